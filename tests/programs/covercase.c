/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shapes of control flow that line coverage can get wrong.  Arguments choose
 * what runs, so that each shape is left half done.
 *
 * build: -O0 -g
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TWICE(x) do { (x)++; (x)++; } while (0)

static jmp_buf env;

static int
table(int k)
{
	switch (k) {
	case 0:
		return 10;
	case 1:
		return 11;
	case 2:
		k += 5;
		/* fall through */
	case 3:
		return k + 13;
	case 4:
	case 5:
		k = -k;
		break;
	case 6:
		return 16;
	default:
		k = 0;
	}
	return k;
}

static int
chains(int a, int b, int c)
{
	int n = a && b ? 1 : c || (a && !b) ? 2 : 3;

	if (a > 0 &&
	    b > 0 &&
	    c > 0)
		n += 10;
	else if (a < 0 ||
	         b < 0)
		n += 20;
	return n;
}

static unsigned
loops(unsigned n)
{
	unsigned sum = 0, i;

	for (i = 0; i < n; i++)
		sum += i;
	for (i = 0; i < n; i++) {
		if (i % 3 == 0)
			continue;
		if (i == 7)
			break;
		sum += i;
	}
	while (n > 5)
		n--;
	do
		sum ^= n;
	while (n-- > 3);
	for (;;) {
		if (sum > 3)
			goto out;
		sum++;
	}
out:
	TWICE(sum);
	return sum;
}

static int
fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int
compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	if (x < y)
		return -1;
	return x > y;
}

static void
never_called(void)
{
	puts("never");
}

static void
jumps(int deep)
{
	if (deep > 0)
		jumps(deep - 1);
	else
		longjmp(env, 3);
	puts("not reached");
}

static int
calls(int k)
{
	int (*f)(int) = k ? fibonacci : table;
	int v[] = { 5, 3, 9, 1 };

	qsort(v, 4, sizeof(*v), compare);
	if (setjmp(env) == 0)
		jumps(k);
	return f(v[2]);
}

int
main(int argc, char **argv)
{
	int k = argc > 1 ? atoi(argv[1]) : 0, sum = 0;

	if (argc > 2)
		never_called();
	for (int i = 0; i <= k; i++)
		sum += table(i);
	sum += chains(k, k - 2, 0);
	sum += (int)loops((unsigned)k + 4);
	sum += calls(k);
	printf("%d %s\n", sum, sum > 0 ? "more" : "less"); if (sum < 0) puts("negative");
	if (sum == 12345) {
		fprintf(stderr,
			"%d\n",
			sum);
		exit(3);
	}
	return 0;
}
