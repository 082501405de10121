/* type/width.h: how wide text is on a terminal: wide letters take two columns, combining marks none. */
#pragma once
#include "base/str.h"

size_t wr_text_width(wr_str s);
size_t wr_text_fit(wr_str s, size_t width); /* bytes of the longest beginning that is no wider */
