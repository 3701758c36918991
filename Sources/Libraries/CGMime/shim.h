/* A module map cannot search the include path for its header; this file can. The kinds of parts are macros with casts, which Swift
 * does not import. */
#include <gmime/gmime.h>
#include <string.h>

static inline int sluice_is_multipart(GMimeObject *part) { return GMIME_IS_MULTIPART(part); }
static inline int sluice_is_message_part(GMimeObject *part) { return GMIME_IS_MESSAGE_PART(part); }
static inline int sluice_is_part(GMimeObject *part) { return GMIME_IS_PART(part); }
static inline GMimeMultipart *sluice_multipart(GMimeObject *part) { return GMIME_MULTIPART(part); }
static inline GMimeMessagePart *sluice_message_part(GMimeObject *part) { return GMIME_MESSAGE_PART(part); }
static inline GMimePart *sluice_part(GMimeObject *part) { return GMIME_PART(part); }
static inline GMimeStreamMem *sluice_memory_stream(GMimeStream *stream) { return GMIME_STREAM_MEM(stream); }
static inline int sluice_is_group(InternetAddress *address) { return INTERNET_ADDRESS_IS_GROUP(address); }
static inline GMimeObject *sluice_message_object(GMimeMessage *message) { return GMIME_OBJECT(message); }
static inline GMimeObject *sluice_object(GMimePart *part) { return GMIME_OBJECT(part); }
static inline gint64 sluice_first_offset(GMimeObject *part) {
  GMimeHeaderList *headers = part ? g_mime_object_get_header_list(part) : NULL;
  if (!headers || g_mime_header_list_get_count(headers) == 0) return -1;
  return g_mime_header_get_offset(g_mime_header_list_get_header_at(headers, 0));
}
/* Whether a part has the same field twice, with different values. */
static inline int sluice_has_two(GMimeObject *part, const char *name) {
  GMimeHeaderList *headers = part ? g_mime_object_get_header_list(part) : NULL;
  const char *first = NULL;
  for (int index = 0; headers && index < g_mime_header_list_get_count(headers); index++) {
    GMimeHeader *header = g_mime_header_list_get_header_at(headers, index);
    if (g_ascii_strcasecmp(g_mime_header_get_name(header), name) != 0) continue;
    const char *value = g_mime_header_get_raw_value(header);
    if (first && value && strcmp(first, value) != 0) return 1;
    first = value;
  }
  return 0;
}
/* Where a mail begins in the stream: GMime keeps the headers of its content apart from the others. -1: it has none. */
static inline gint64 sluice_message_start(GMimeMessage *message) {
  if (!message) return -1;
  gint64 own = sluice_first_offset(GMIME_OBJECT(message));
  gint64 contents = sluice_first_offset(g_mime_message_get_mime_part(message));
  return own < 0 || (contents >= 0 && contents < own) ? contents : own;
}
/* memmem(3) is declared for _GNU_SOURCE only, which Swift does not set for Glibc. */
void *memmem(const void *bytes, size_t count, const void *wanted, size_t wanted_count);
static inline int sluice_contains(const void *bytes, size_t count, const void *wanted, size_t wanted_count) {
  return memmem(bytes, count, wanted, wanted_count) != NULL;
}
