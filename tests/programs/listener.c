/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Says "ready", then names each signal that reaches it and each line that it
 * reads, until the line "end" or the end of input.  build: -O1 -g
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void
say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(2);
}

static void
on_signal(int sig)
{
	say(sig == SIGCONT ? "got CONT\n" : sig == SIGTERM ? "got TERM\n" : sig == SIGUSR1 ? "got USR1\n" :
	    sig == SIGHUP ? "got HUP\n" : "got INT\n");
}

int
main(void)
{
	static const int signals[] = { SIGCONT, SIGTERM, SIGUSR1, SIGHUP, SIGINT };
	struct sigaction sa = { .sa_handler = on_signal };
	char line[128];
	size_t used = 0;

	for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	say("ready\n");
	for (;;) {
		ssize_t n = read(0, line + used, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 3;
		if (line[used] == '\n' || used + 2 == sizeof(line)) {
			line[used] = 0;
			if (!strcmp(line, "end"))
				return 4;
			say("line ");
			say(line);
			say("\n");
			used = 0;
			continue;
		}
		used++;
	}
}
