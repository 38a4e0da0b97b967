/* memcpy by words: that of picolibc goes byte by byte, and loading a network is mostly copying. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *target, const void *source, size_t bytes);

/* Words that may be parts of any object. */
typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *target, const void *source, size_t bytes)
{
    unsigned char *to = target;
    const unsigned char *from = source;

    if ((((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
        for (; bytes >= 16; bytes -= 16, to += 16, from += 16) {
            word a = ((const word *)(const void *)from)[0];
            word b = ((const word *)(const void *)from)[1];
            word c = ((const word *)(const void *)from)[2];
            word d = ((const word *)(const void *)from)[3];

            ((word *)(void *)to)[0] = a;
            ((word *)(void *)to)[1] = b;
            ((word *)(void *)to)[2] = c;
            ((word *)(void *)to)[3] = d;
        }
        for (; bytes >= 4; bytes -= 4, to += 4, from += 4)
            *(word *)(void *)to = *(const word *)(const void *)from;
    }
    for (; bytes != 0; bytes--)
        *to++ = *from++;
    return target;
}
