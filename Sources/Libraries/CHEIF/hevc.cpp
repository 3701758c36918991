#include "hevc.h"
#include "include/heif_picture.h"

#include <climits>
#include <cstdint>
#include <cstring>
#include <libde265/de265.h>
#include <libheif/heif.h>
#include <libheif/heif_plugin.h>
#include <memory>

static heif_error done() { return {heif_error_Ok, heif_suberror_Unspecified, "done"}; }
static heif_error fault(const char *reason) {
  return {heif_error_Decoder_plugin_error, heif_suberror_Unspecified, reason};
}
static heif_error no_memory() {
  return {heif_error_Memory_allocation_error, heif_suberror_Unspecified, "there is no memory for a picture"};
}

static heif_error new_decoder(void **decoder) {
  *decoder = de265_new_decoder();
  return *decoder ? done() : no_memory();
}

static void free_decoder(void *decoder) { de265_free_decoder(decoder); }

/* Units with their length in four bytes before each. */
static heif_error push_data(void *decoder, const void *data, size_t size) {
  auto bytes = static_cast<const uint8_t *>(data);
  while (size) {
    if (size < 4) return fault("a unit of HEVC has no length");
    const size_t length = size_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    if (length > size - 4) return fault("a unit of HEVC is cut short");
    if (length > INT_MAX) return fault("a unit of HEVC is too long");
    const de265_error error = de265_push_NAL(decoder, bytes + 4, static_cast<int>(length), 0, nullptr);
    if (!de265_isOK(error)) return fault(de265_get_error_text(error));
    bytes += 4 + length;
    size -= 4 + length;
  }
  return done();
}

static heif_chroma chroma_of(const de265_image *picture) {
  switch (de265_get_chroma_format(picture)) {
  case de265_chroma_mono: return heif_chroma_monochrome;
  case de265_chroma_420: return heif_chroma_420;
  case de265_chroma_422: return heif_chroma_422;
  case de265_chroma_444: return heif_chroma_444;
  }
  return heif_chroma_undefined;
}

static bool copy(const de265_image *picture, heif_image *image, int plane, heif_channel channel) {
  const int width = de265_get_image_width(picture, plane), height = de265_get_image_height(picture, plane);
  const int bits = de265_get_bits_per_pixel(picture, plane);
  if (bits < 8 || bits > 16 || heif_image_add_plane(image, channel, width, height, bits).code != heif_error_Ok) return false;
  int from_stride = 0, to_stride = 0;
  const uint8_t *from = de265_get_image_plane(picture, plane, &from_stride);
  uint8_t *to = heif_image_get_plane(image, channel, &to_stride);
  if (!from || !to) return false;
  const size_t line = static_cast<size_t>(width) * (bits > 8 ? 2 : 1);
  for (int row = 0; row < height; row++)
    memcpy(to + static_cast<size_t>(row) * to_stride, from + static_cast<size_t>(row) * from_stride, line);
  return true;
}

/* What the numbers of the samples mean, which a file may leave to the stream. */
static void set_colours(const de265_image *picture, heif_image *image) {
  std::unique_ptr<heif_color_profile_nclx, decltype(&heif_nclx_color_profile_free)> colours(
      heif_nclx_color_profile_alloc(), heif_nclx_color_profile_free);
  if (!colours) return;
  colours->full_range_flag = de265_get_image_full_range_flag(picture) != 0;
  /* Numbers that libheif does not know leave its defaults. */
  heif_nclx_color_profile_set_color_primaries(
      colours.get(), static_cast<uint16_t>(de265_get_image_colour_primaries(picture)));
  heif_nclx_color_profile_set_transfer_characteristics(
      colours.get(), static_cast<uint16_t>(de265_get_image_transfer_characteristics(picture)));
  heif_nclx_color_profile_set_matrix_coefficients(
      colours.get(), static_cast<uint16_t>(de265_get_image_matrix_coefficients(picture)));
  heif_image_set_nclx_color_profile(image, colours.get());
}

/* libheif converts colours by the size and the bits of the first plane. */
static bool planes_fit(const de265_image *picture, heif_chroma chroma) {
  const int across = chroma == heif_chroma_444 ? 1 : 2, down = chroma == heif_chroma_420 ? 2 : 1;
  const int width = de265_get_image_width(picture, 0), height = de265_get_image_height(picture, 0);
  if (width < 1 || height < 1) return false;
  for (int plane = 1; plane < (chroma == heif_chroma_monochrome ? 1 : 3); plane++)
    if (de265_get_image_width(picture, plane) != (width - 1) / across + 1 ||
        de265_get_image_height(picture, plane) != (height - 1) / down + 1 ||
        de265_get_bits_per_pixel(picture, plane) != de265_get_bits_per_pixel(picture, 0))
      return false;
  return true;
}

static heif_error convert(const de265_image *picture, heif_image **out) {
  const heif_chroma chroma = chroma_of(picture);
  if (chroma == heif_chroma_undefined || !planes_fit(picture, chroma))
    return {heif_error_Unsupported_feature, heif_suberror_Unspecified, "the planes of the HEVC differ in size or bits"};
  const bool is_gray = chroma == heif_chroma_monochrome;
  heif_image *image = nullptr;
  const heif_error error = heif_image_create(
      de265_get_image_width(picture, 0), de265_get_image_height(picture, 0),
      is_gray ? heif_colorspace_monochrome : heif_colorspace_YCbCr, chroma, &image);
  if (error.code != heif_error_Ok) return error;
  const heif_channel channels[] = {heif_channel_Y, heif_channel_Cb, heif_channel_Cr};
  for (int plane = 0; plane < (is_gray ? 1 : 3); plane++)
    if (!copy(picture, image, plane, channels[plane])) {
      heif_image_release(image);
      return no_memory();
    }
  set_colours(picture, image);
  *out = image;
  return done();
}

static heif_error decode_image(void *decoder, heif_image **out) {
  de265_flush_data(decoder);
  for (int more = 1; more;) {
    more = 0;
    const de265_error error = de265_decode(decoder, &more);
    if (!de265_isOK(error)) return fault(de265_get_error_text(error));
    if (const de265_image *picture = de265_get_next_picture(decoder)) {
      /* A picture of which parts are missing comes with a warning. */
      const de265_error warning = de265_get_warning(decoder);
      if (warning != DE265_OK) return fault(de265_get_error_text(warning));
      return convert(picture, out);
    }
  }
  return fault("there is no picture in the HEVC");
}

const char *sluice_hevc_version(void) { return de265_get_version(); }

bool sluice_hevc_register() {
  /* Above the 100 of libheif's own. */
  static const heif_decoder_plugin plugin = {
      3,
      [] { return "libde265 without threads"; },
      [] { de265_init(); },
      [] { de265_free(); },
      [](heif_compression_format format) { return format == heif_compression_HEVC ? 1000 : 0; },
      new_decoder,
      free_decoder,
      push_data,
      decode_image,
      [](void *, int) {},
      "sluice",
  };
  return heif_register_decoder_plugin(&plugin).code == heif_error_Ok;
}
