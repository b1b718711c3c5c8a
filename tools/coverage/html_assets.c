/* SPDX-License-Identifier: BSD-2-Clause */
/* The style and the script of the pages, as they lie in html/. */
#include "html.h"

#define ASSET(name, file)                                               \
	__asm__(".section .rodata\n"                                    \
	        ".global html_" #name "_start\nhtml_" #name "_start:\n" \
	        ".incbin \"tools/coverage/html/" file "\"\n"            \
	        ".global html_" #name "_end\nhtml_" #name "_end:\n"     \
	        ".previous\n");                                         \
	extern const char html_##name##_start[], html_##name##_end[]

ASSET(css, "report.css");
ASSET(js, "report.js");

const struct html_asset html_assets[] = {
	{ "report.css", html_css_start, html_css_end },
	{ "report.js", html_js_start, html_js_end },
	{ NULL, NULL, NULL },
};
