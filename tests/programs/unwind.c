/* SPDX-License-Identifier: BSD-2-Clause */
/* An exception through frames with clean-ups, by the unwinder that C++ uses.
 * build: -O0 -g -fexceptions -rdynamic */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

static jmp_buf caught;
static int cleaned;

static void
clean(int *level)
{
	cleaned += *level;
}

static _Unwind_Reason_Code
stop(int version, _Unwind_Action actions, _Unwind_Exception_Class class, struct _Unwind_Exception *e,
     struct _Unwind_Context *context, void *arg)
{
	(void)version, (void)class, (void)e, (void)context, (void)arg;
	if (actions & _UA_END_OF_STACK || cleaned >= 55)
		longjmp(caught, 1);
	return _URC_NO_REASON;
}

static void
throw_at(int n)
{
	int level __attribute__((cleanup(clean))) = n;
	static struct _Unwind_Exception e;

	if (n)
		throw_at(n - 1);
	else {
		memset(&e, 0, sizeof(e));
		_Unwind_ForcedUnwind(&e, stop, NULL);
	}
}

int
main(void)
{
	if (!setjmp(caught))
		throw_at(10);
	printf("cleaned %d\n", cleaned);
	return 0;
}
