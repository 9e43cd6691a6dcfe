/* Threads of a program of C: their values for keys, and their end. */

#include <pthread.h>

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void) {
    pthread_key_create(&key, 0);
}

/* Creates the key of this file, which no run restores. */
void planted_make_key(void) {
    pthread_once(&once, make_key);
}

/* Sets the value of this thread for the key of this file. Returns the value before. */
void *planted_exchange_value(void *value) {
    void *before = pthread_getspecific(key);
    pthread_setspecific(key, value);
    return before;
}

static void __attribute__((noinline)) end_now(void *result) {
    pthread_exit(result);
}

/* The function of a thread that ends before it returns. */
void *planted_end_early(void *result) {
    end_now(result);
    return 0;
}
