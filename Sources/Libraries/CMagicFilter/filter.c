#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Bytes that libmagic takes for no text, unless of an encoding that it decodes; and such as begin letters that are longer in
 * UTF-8 than need be, or may. */
enum { odd = 1, maybe_odd = 2 };
static const unsigned char kinds[256] = {
    [0x00 ... 0x06] = odd, [0x0B] = odd,         [0x0E ... 0x1A] = odd, [0x1C ... 0x1F] = odd,       [0x7F] = odd,
    [0xC0 ... 0xC1] = odd, [0xF8 ... 0xFF] = odd, [0xE0] = maybe_odd,    [0xF0] = maybe_odd,
};

/* Whether libmagic finds the letters of ASCII in a content with these bytes where they are, or further behind: because it takes
 * it for ASCII, UTF-8 or an alphabet of eight bits. */
static bool keeps_letters(const unsigned char *bytes, size_t size) {
  unsigned all = 0;
  for (size_t i = 0; i < size; i++) all |= kinds[bytes[i]];
  for (size_t i = 0; all & maybe_odd && i + 1 < size; i++)
    if ((bytes[i] == 0xE0 && bytes[i + 1] < 0xA0) || (bytes[i] == 0xF0 && bytes[i + 1] < 0x90)) return false;
  return !(all & odd);
}

static bool begins_line(const char *text, size_t at) {
  while (at > mark && sluice_is_space(text[at - 1]))
    if (text[--at] == '\n') return true;
  return at <= mark;
}

static bool stands(const sluice_word *word, const char *at) {
  for (int i = 0; i < word->size; i++)
    if (sluice_lower(at[i]) != word->bytes[i]) return false;
  return true;
}

static void find_hashed(const sluice_magic_filter *filter, const char *text, size_t size) {
  unsigned three_bytes = size < hashed ? 0 : sluice_three_bytes(text) << 8;
  for (size_t at = 0; at + hashed <= size; at++) {
    three_bytes = three_bytes >> 8 | (unsigned)(unsigned char)text[at + hashed - 1] << 16;
    for (unsigned next = filter->first[sluice_hash(three_bytes)]; next; next = filter->needles[next - 1].next) {
      const sluice_needle *needle = &filter->needles[next - 1];
      sluice_test *test = &filter->tests[needle->test];
      if (test->found & needle->set || at >= needle->end || needle->word.size > size - at) continue;
      if (stands(&needle->word, text + at) && (!needle->begins_line || begins_line(text, at))) test->found |= needle->set;
    }
  }
}

/* With what each line begins, white space aside. */
static void find_beginnings(const char *text, size_t size, bool beginnings[256]) {
  for (size_t at = 0; at < size && at < mark; at++) beginnings[(unsigned char)text[at]] = true;
  const char *end = text + size, *line = size > mark ? text + mark : NULL;
  for (; line; line = memchr(line, '\n', (size_t)(end - line))) {
    while (line < end && sluice_is_space(*line)) line++;
    if (line == end) break;
    beginnings[(unsigned char)*line] = true;
  }
}

static void find_short(const sluice_magic_filter *filter, const char *text, size_t size) {
  bool beginnings[256] = {false};
  find_beginnings(text, size, beginnings);
  for (unsigned next = filter->first[hashes]; next; next = filter->needles[next - 1].next) {
    const sluice_needle *needle = &filter->needles[next - 1];
    const size_t end = needle->end < size ? needle->end : size;
    if (needle->begins_line ? beginnings[(unsigned char)needle->word.bytes[0]]
                            : memmem(text, end, needle->word.bytes, needle->word.size) != NULL)
      filter->tests[needle->test].found |= needle->set;
  }
}

static void switch_tests(sluice_magic_filter *filter, bool is_exact, bool is_whole) {
  if (!is_exact && !filter->is_any_off) return;
  filter->is_any_off = is_exact;
  for (int i = 0; i < filter->test_count; i++) {
    const sluice_test *test = &filter->tests[i];
    /* What is tested for binary types is tested of the whole content. */
    const bool is_sure = is_exact && (is_whole || !(test->switches & flag_binary));
    const bool may_pass = !is_sure || test->found == test->needed, is_on = *test->flag & test->switches;
    if (may_pass != is_on) *test->flag ^= test->switches;
  }
}

void sluice_magic_filter_set(sluice_magic_filter *filter, int content) {
  if (!filter->database) return;
  size_t size = 0;
  bool is_exact = true, is_end = false;
  /* Most of what is no text shows it soon. */
  while (is_exact && !is_end && size < sluice_magic_filter_reach) {
    const size_t most = size ? sluice_magic_filter_reach - size : 4096;
    const ssize_t count = pread(content, filter->text + size, most, (off_t)size);
    if (count < 0 && errno == EINTR) continue;
    is_end = count == 0;
    is_exact = count >= 0 && keeps_letters((const unsigned char *)filter->text, size + (size_t)count);
    if (is_exact) size += (size_t)count;
  }
  for (int i = 0; i < filter->test_count; i++) filter->tests[i].found = 0;
  if (is_exact) {
    find_hashed(filter, filter->text, size);
    find_short(filter, filter->text, size);
  }
  switch_tests(filter, is_exact, is_end);
}
