/* A module map cannot search the include path for its headers; this file can. */
#include <archive.h>
#include <archive_entry.h>

/* The kinds of entries are macros with casts, which Swift does not import. 0: the archive tells none. */
static inline int sluice_entry_is_link(struct archive_entry *entry) { return archive_entry_filetype(entry) == AE_IFLNK; }
static inline int sluice_entry_is_file(struct archive_entry *entry) {
  return archive_entry_filetype(entry) == AE_IFREG || archive_entry_filetype(entry) == 0;
}
/* memmem(3) is declared for _GNU_SOURCE only, which Swift does not set for Glibc. */
#include <stddef.h>
void *memmem(const void *bytes, size_t count, const void *wanted, size_t wanted_count);
static inline const void *sluice_find(const void *bytes, size_t count, const void *wanted, size_t wanted_count) {
  return memmem(bytes, count, wanted, wanted_count);
}
