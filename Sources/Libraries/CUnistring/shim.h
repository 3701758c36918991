#include <unicase.h>
#include <uninorm.h>

/* UNINORM_NFKD is a macro. A text in small letters without compatibility characters, decomposed; NULL: no memory, or no UTF-8. */
static inline uint8_t *sluice_fold(const uint8_t *text, size_t count, uint8_t *room, size_t *length) {
  return u8_casefold(text, count, 0, UNINORM_NFKD, room, length);
}
