/* Functions that synchronise threads and are not instrumented. */

#include <stdint.h>

uint32_t planted_add(uint32_t *word) {
    return __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST); /* here: planted_add */
}

static uint32_t inner(uint32_t *word) {
    return __atomic_exchange_n(word, 7, __ATOMIC_SEQ_CST); /* here: inner */
}

uint32_t planted_swap(uint32_t *word, int really) {
    return really ? inner(word) : 0;
}

/* Not instrumented, either: a static that no run restores. */
uint32_t planted_calls;

uint32_t planted_count_call(void) {
    return planted_calls++;
}
