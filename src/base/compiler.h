/* base/compiler.h: the few compiler facts that the whole tree relies on.
 *
 * Idea       C17 plus a short list of GNU attributes, named once here, so that both gcc and clang builds read the same.
 * Invariant  nothing here has state; every macro expands to an attribute, a builtin or a constant.               */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WR_NODISCARD __attribute__((warn_unused_result))
#define WR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define WR_COLD __attribute__((cold, noinline))
#define WR_NORETURN __attribute__((noreturn))
#define WR_INLINE static inline __attribute__((always_inline))
#define WR_UNUSED __attribute__((unused))
#define WR_LIKELY(x) __builtin_expect(!!(x), 1)
#define WR_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WR_PREFETCH(p) __builtin_prefetch((p), 1, 3)
#define WR_COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define WR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WR_MAX(a, b) ((a) > (b) ? (a) : (b))

typedef __int128 wr_i128;
typedef unsigned __int128 wr_u128;

/* A broken invariant of ours (never bad input): prints place and text, then aborts. On in release builds too, at
 * batch and control granularity. In row loops use wr_dassert, which only debug and sanitizer builds keep. */
WR_NORETURN WR_COLD void wr_panic(const char *file, int line, const char *what);
#define wr_assert(cond) ((cond) ? (void)0 : wr_panic(__FILE__, __LINE__, #cond))
#ifdef WR_DEBUG
#define wr_dassert(cond) wr_assert(cond)
#else
#define wr_dassert(cond) ((void)sizeof(!(cond)))
#endif
