/* base/embed.h: a file of the repository as bytes of the binary.
 *
 * Idea       the assembler's .incbin; the path comes from CMake, which also names the file in OBJECT_DEPENDS, so that a change of it is seen.
 * Memory     read-only; NAME to NAME_end, with a zero byte behind it.                                                                        */
#pragma once

#define WR_EMBED(name, path)                                                                                                                       \
    extern const char name[], name##_end[];                                                                                                       \
    __asm__(".pushsection .rodata\n.global " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" path "\"\n.global " #name "_end\n.hidden " #name \
            "_end\n" #name "_end:\n.byte 0\n.popsection\n")
