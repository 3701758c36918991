/* libpng's simplified interface takes its formats and sizes from macros that Swift does not import. */
#include <png.h>

/* Eight bits each of red, green, blue and perhaps alpha, not premultiplied. */
static inline png_image sluice_png(png_uint_32 width, png_uint_32 height, int has_alpha) {
  png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height};
  image.format = has_alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
  return image;
}
/* The largest size of the image as a PNG, in bytes. */
static inline size_t sluice_png_bound(png_image image) { return PNG_IMAGE_PNG_SIZE_MAX(image); }
