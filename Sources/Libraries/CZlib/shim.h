/* zlib starts a stream by a macro that Swift does not import. */
#include <zlib.h>

/* Begins to inflate a stream without the header of zlib, as in a ZIP. */
static inline int sluice_inflate_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
