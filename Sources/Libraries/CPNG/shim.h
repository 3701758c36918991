/* libpng's simplified interface takes its formats and sizes from macros that Swift does not import. */
#include <png.h>

/* Eight bits each of red, green, blue and alpha, not premultiplied. */
static inline png_image sluice_png_rgba(png_uint_32 width, png_uint_32 height) {
  png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGBA};
  return image;
}
/* The largest size of the image as a PNG, in bytes. */
static inline size_t sluice_png_bound(png_image image) { return PNG_IMAGE_PNG_SIZE_MAX(image); }
