/* A shared library. Its code is not searched, so no caller knows if its functions synchronise threads. */

#include <stdint.h>

uint32_t planted_shared_add(uint32_t *word) {
    return __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

uint32_t planted_shared_seven(void) {
    return 7;
}
