/* libvips calls its operations through variadic functions, and Swift imports none. Each function here is one operation with
 * the arguments this project gives it. */
#include <string.h>
#include <vips/vips.h>
#include <vips/vector.h>

/* VIPS_INIT is a macro: it compares the header's version with the library's. */
static inline int sluice_vips_start(void) { return VIPS_INIT("sluice"); }

/* The image a source holds: its header now, its pixels when they are asked for, from top to bottom. */
static inline VipsImage *sluice_vips_open(VipsSource *source) {
  return vips_image_new_from_source(source, "", "access", VIPS_ACCESS_SEQUENTIAL, NULL);
}
/* The same made to fit a square, never larger, in the colours of a profile if one is named; an image that is cut short is
 * an error. It keeps the way the image lies: to turn it would need all of it. The loader is told what is an error by its
 * option string, since libvips 8.14 does not pass the argument `fail_on` on from a source. */
static inline VipsImage *sluice_vips_fit(VipsSource *source, int edge, const char *profile) {
  VipsImage *fitted = NULL;
  int failed = vips_thumbnail_source(source, &fitted, edge, "height", edge, "size", VIPS_SIZE_DOWN, "no_rotate", TRUE,
                                     "export_profile", profile, "option_string", "[fail_on=error]", NULL);
  return failed ? NULL : fitted;
}
static inline VipsImage *sluice_vips_fit_image(VipsImage *image, int edge, const char *profile) {
  VipsImage *fitted = NULL;
  int failed = vips_thumbnail_image(image, &fitted, edge, "height", edge, "size", VIPS_SIZE_DOWN, "no_rotate", TRUE,
                                    "export_profile", profile, NULL);
  return failed ? NULL : fitted;
}
/* Gives an image the colour profile that the header of a source has, if any. */
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
/* In sRGB with 8 bits, whatever it was in. */
static inline VipsImage *sluice_vips_to_srgb(VipsImage *image) {
  VipsImage *converted = NULL;
  return vips_colourspace(image, &converted, VIPS_INTERPRETATION_sRGB, NULL) ? NULL : converted;
}
/* The first bands only. */
static inline VipsImage *sluice_vips_first_bands(VipsImage *image, int count) {
  VipsImage *rest = NULL;
  return vips_extract_band(image, &rest, 0, "n", count, NULL) ? NULL : rest;
}
/* The image as it is to be shown, by an EXIF orientation. */
static inline VipsImage *sluice_vips_turn(VipsImage *image, int orientation) {
  VipsImage *turned = NULL;
  vips_image_set_int(image, VIPS_META_ORIENTATION, orientation);
  return vips_autorot(image, &turned, NULL) ? NULL : turned;
}
/* Computes all pixels on this thread, where everything that saves or copies an image would start threads: strip by strip,
 * since what is read from top to bottom is kept for a few lines only. `pixels` has room for all of it. */
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
