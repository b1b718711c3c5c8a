/* SPDX-License-Identifier: BSD-2-Clause */
/* Loaded by dlopen.c.
 * build: -shared -fPIC -O1 -g */
int module_work(int n);

int
module_work(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i & 1 ? i : 2 * i;
	return sum;
}
