/* libvips calls its operations through variadic functions, and Swift imports none. Each function here is one
 * operation with the arguments this project gives it. */
#include <string.h>
#include <vips/vips.h>
#include <vips/vector.h>

/* VIPS_INIT is a macro: it compares the header's version with the library's. */
static inline int sluice_vips_start(void) { return VIPS_INIT("sluice"); }

/* The image in a source: reads the header now, the pixels on demand, from top to bottom. */
static inline VipsImage *sluice_vips_open(VipsSource *source) {
  return vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}
/* The same, scaled to fit a square and never enlarged, in the colours of a profile if one is named; a
 * truncated image is an error. It keeps its orientation: turning would need all of it in memory. The loader
 * gets its failure mode by `options`, such as "[fail_on=error]", because libvips 8.14 does not pass on the argument `fail_on`
 * for a source. */
static inline VipsImage *sluice_vips_fit(VipsSource *source, int edge, const char *profile, const char *options) {
  VipsImage *fitted = NULL;
  int failed = vips_thumbnail_source(source, &fitted, edge, "height", edge, "size", VIPS_SIZE_DOWN, "no_rotate", TRUE,
                                     "export_profile", profile, "option_string", options, NULL);
  return failed ? NULL : fitted;
}
static inline VipsImage *sluice_vips_fit_image(VipsImage *image, int edge, const char *profile) {
  VipsImage *fitted = NULL;
  int failed = vips_thumbnail_image(image, &fitted, edge, "height", edge, "size", VIPS_SIZE_DOWN, "no_rotate", TRUE,
                                    "export_profile", profile, NULL);
  return failed ? NULL : fitted;
}
/* Gives an image the colour profile in a source's header, if any. */
static inline int sluice_vips_take_profile(VipsImage *image, VipsSource *source) {
  const void *profile;
  size_t size;
  VipsImage *header = sluice_vips_open(source);
  if (!header) return -1;
  if (vips_image_get_typeof(header, VIPS_META_ICC_NAME) && !vips_image_get_blob(header, VIPS_META_ICC_NAME, &profile, &size))
    vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, profile, size);
  g_object_unref(header);
  return 0;
}
/* Whether the image has a colour profile, and that is for as many colours as the image has. */
static inline int sluice_vips_has_fit_profile(VipsImage *image) {
  const void *profile;
  size_t size;
  return vips_image_get_typeof(image, VIPS_META_ICC_NAME) && !vips_image_get_blob(image, VIPS_META_ICC_NAME, &profile, &size) &&
         vips_icc_is_compatible_profile(image, profile, size);
}
/* Converts to sRGB with 8 bits. */
static inline VipsImage *sluice_vips_to_srgb(VipsImage *image) {
  VipsImage *converted = NULL;
  return vips_colourspace(image, &converted, VIPS_INTERPRETATION_sRGB, NULL) ? NULL : converted;
}
/* Keeps the first bands only. */
static inline VipsImage *sluice_vips_first_bands(VipsImage *image, int count) {
  VipsImage *rest = NULL;
  return vips_extract_band(image, &rest, 0, "n", count, NULL) ? NULL : rest;
}
/* Turns the image upright by an EXIF orientation. */
static inline VipsImage *sluice_vips_turn(VipsImage *image, int orientation) {
  VipsImage *turned = NULL;
  vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
  return vips_autorot(image, &turned, NULL) ? NULL : turned;
}
/* Computes all pixels on this thread; libvips' functions that save or copy would start threads. Works strip
 * by strip, because a sequential read keeps only a few lines. `pixels` must have room for the whole image. */
static inline int sluice_vips_compute(VipsImage *image, void *pixels) {
  const int strip = 16;
  const size_t line = VIPS_IMAGE_SIZEOF_LINE(image);
  VipsRegion *region = vips_region_new(image);
  int failed = region == NULL;
  for (int y = 0; !failed && y < image->Ysize; y += strip) {
    VipsRect part = {0, y, image->Xsize, VIPS_MIN(strip, image->Ysize - y)};
    failed = vips_region_prepare(region, &part);
    for (int row = y; !failed && row < y + part.height; row++)
      memcpy((char *)pixels + (size_t)row * line, VIPS_REGION_ADDR(region, 0, row), line);
  }
  if (region) g_object_unref(region);
  return failed ? -1 : 0;
}
