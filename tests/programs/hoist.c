/* SPDX-License-Identifier: BSD-2-Clause */
/* Statements that do not run, parts of which an optimising compiler moves to where they do. */
#include <stdlib.h>
#include <stdio.h>
__attribute__((noinline)) static long
walk(const int *p, int n, int k, long *out)
{
	long x = 0;
	for (int i = 0; i < n; i++) {
		if (p[i] == 77)
			x += (long)k * 12345 / 7;
		if (p[i] == 78)
			out[i] = k * 31 + n * 17;
		while (x > 5 && p[i] > 100)
			x -= (long)n * k;
	}
	return x;
}
__attribute__((noinline)) static void
fill(double *a, const double *b, int n, double k)
{
	for (int i = 0; i < n; i++)
		a[i] = b[i] * k + 3.5 * k;
}
__attribute__((noinline)) static int
find(const char *s, int c)
{
	int n = 0;
	for (; *s; s++)
		if (*s == c)
			n += c * 3 + 1;
	return n;
}
int
main(int argc, char **argv)
{
	int p[8] = { 1, 2, 3, 4, 5, 6, 7, argc };
	long out[8] = { 0 };
	double a[4] = { 0 }, b[4] = { 1, 2, 3, argc };
	long r = walk(p, 8, argc + 3, out);
	fill(a, b, argc - 1, r);
	r += find("hello", 'z');
	return r + a[0] + out[3] > 1000;
}
