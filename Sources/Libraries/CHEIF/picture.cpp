#include "hevc.h"
#include "include/heif_picture.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <libheif/heif.h>
#include <malloc.h>
#include <memory>
#include <new>
#include <utility>
#include <vector>

template <typename Value, auto release> struct Releaser {
  void operator()(Value *value) const { release(value); }
};
using Context = std::unique_ptr<heif_context, Releaser<heif_context, heif_context_free>>;
using Handle = std::unique_ptr<heif_image_handle, Releaser<heif_image_handle, heif_image_handle_release>>;
using Image = std::unique_ptr<heif_image, Releaser<heif_image, heif_image_release>>;
using Options = std::unique_ptr<heif_decoding_options, Releaser<heif_decoding_options, heif_decoding_options_free>>;

struct sluice_heif {
  Context context;
  Handle handle;
  /* The other pictures of the same rank. */
  std::vector<Handle> others;
  /* Of all pictures. */
  std::vector<std::pair<const heif_image_handle *, heif_item_id>> exif;
  Image decoded;
  sluice_heif_facts facts = {};
};

static void explain(sluice_heif_fault *fault, sluice_heif_result result, const char *reason) {
  fault->result = result;
  snprintf(fault->reason, sizeof fault->reason, "%s", reason);
}

static bool check(heif_error error, sluice_heif_fault *fault) {
  switch (error.code) {
  case heif_error_Ok: return true;
  case heif_error_Unsupported_filetype:
  case heif_error_Unsupported_feature: explain(fault, SLUICE_HEIF_UNKNOWN, error.message); break;
  case heif_error_Memory_allocation_error:
    /* A size beyond libheif's own limits, whatever memory there is. */
    if (error.subcode == heif_suberror_Security_limit_exceeded) explain(fault, SLUICE_HEIF_DAMAGED, error.message);
    else explain(fault, SLUICE_HEIF_NO_MEMORY, error.message);
    break;
  default: explain(fault, SLUICE_HEIF_DAMAGED, error.message);
  }
  return false;
}

bool sluice_heif_start(void) {
  static const bool is_started = heif_init(nullptr).code == heif_error_Ok && sluice_hevc_register();
  return is_started;
}

const char *sluice_heif_version(void) { return heif_get_version(); }

static std::vector<heif_item_id> metadata(const heif_image_handle *handle, const char *type) {
  std::vector<heif_item_id> ids(heif_image_handle_get_number_of_metadata_blocks(handle, type));
  const int count = heif_image_handle_get_list_of_metadata_block_IDs(handle, type, ids.data(), static_cast<int>(ids.size()));
  ids.resize(count);
  return ids;
}

/* Notes which metadata a picture has. */
static void note(sluice_heif *file, const heif_image_handle *handle) {
  sluice_heif_facts *facts = &file->facts;
  for (heif_item_id id : metadata(handle, "Exif")) file->exif.emplace_back(handle, id);
  facts->exif_count = static_cast<int>(file->exif.size());
  for (heif_item_id id : metadata(handle, "mime"))
    if (!strcmp(heif_image_handle_get_metadata_content_type(handle, id), "application/rdf+xml")) facts->has_xmp = true;
  if (heif_image_handle_get_raw_color_profile_size(handle) > 0) facts->has_profile = true;
}

static void add_others(sluice_heif *file) {
  heif_item_id primary = 0;
  heif_context_get_primary_image_ID(file->context.get(), &primary);
  std::vector<heif_item_id> ids(file->facts.pictures);
  ids.resize(heif_context_get_list_of_top_level_image_IDs(file->context.get(), ids.data(), static_cast<int>(ids.size())));
  for (heif_item_id id : ids) {
    heif_image_handle *handle = nullptr;
    if (id == primary || heif_context_get_image_handle(file->context.get(), id, &handle).code != heif_error_Ok) continue;
    file->others.emplace_back(handle);
    note(file, handle);
  }
}

static bool open(sluice_heif *file, const void *bytes, size_t size, sluice_heif_fault *fault) {
  file->context.reset(heif_context_alloc());
  heif_context_set_max_decoding_threads(file->context.get(), 0);
  if (!check(heif_context_read_from_memory_without_copy(file->context.get(), bytes, size, nullptr), fault)) return false;
  heif_image_handle *handle = nullptr;
  if (!check(heif_context_get_primary_image_handle(file->context.get(), &handle), fault)) return false;
  file->handle.reset(handle);
  sluice_heif_facts *facts = &file->facts;
  facts->width = heif_image_handle_get_width(handle);
  facts->height = heif_image_handle_get_height(handle);
  facts->pictures = heif_context_get_number_of_top_level_images(file->context.get());
  facts->has_alpha = heif_image_handle_has_alpha_channel(handle);
  note(file, handle);
  if (facts->pictures > 1) add_others(file);
  return true;
}

sluice_heif *sluice_heif_open(const void *bytes, size_t size, sluice_heif_facts *facts, sluice_heif_fault *fault) {
  try {
    auto file = std::make_unique<sluice_heif>();
    if (!open(file.get(), bytes, size, fault)) return nullptr;
    *facts = file->facts;
    return file.release();
  } catch (const std::bad_alloc &) {
    explain(fault, SLUICE_HEIF_NO_MEMORY, "there is no memory to read the file");
  } catch (const std::exception &error) {
    explain(fault, SLUICE_HEIF_DAMAGED, error.what());
  }
  return nullptr;
}

void sluice_heif_close(sluice_heif *file) { delete file; }

static int bands(const sluice_heif *file) { return file->facts.has_alpha ? 4 : 3; }

static bool decode(sluice_heif *file, sluice_heif_fault *fault) {
  Options options(heif_decoding_options_alloc());
  options->convert_hdr_to_8bit = true;
  /* libheif takes it for AV1, where the decoder that it prefers, dav1d, starts threads. */
  options->decoder_id = "aom";
  const heif_chroma chroma = file->facts.has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB;
  heif_image *decoded = nullptr;
  if (!check(heif_decode_image(file->handle.get(), &decoded, heif_colorspace_RGB, chroma, options.get()), fault)) return false;
  file->decoded.reset(decoded);
  const int width = heif_image_get_width(decoded, heif_channel_interleaved);
  const int height = heif_image_get_height(decoded, heif_channel_interleaved);
  if (width != file->facts.width || height != file->facts.height) {
    explain(fault, SLUICE_HEIF_DAMAGED, "the picture has another size than the file says");
    return false;
  }
  int stride = 0;
  const bool has_pixels = heif_image_get_plane_readonly(decoded, heif_channel_interleaved, &stride) != nullptr;
  if (has_pixels && heif_image_get_chroma_format(decoded) == chroma && stride / bands(file) >= width) return true;
  explain(fault, SLUICE_HEIF_DAMAGED, "the picture has no pixels in RGB");
  return false;
}

/* Makes malloc(3) hand out zeros. The libraries leave pixels that no tile covers as they were allocated, and an image of
 * somebody else may have been there. */
struct Blank {
  Blank() { mallopt(M_PERTURB, 0xFF); }
  ~Blank() { mallopt(M_PERTURB, 0); }
};

bool sluice_heif_decode(sluice_heif *file, sluice_heif_fault *fault) {
  const Blank blank;
  try {
    return decode(file, fault);
  } catch (const std::bad_alloc &) {
    explain(fault, SLUICE_HEIF_NO_MEMORY, "there is no memory to decode the picture");
  } catch (const std::exception &error) {
    explain(fault, SLUICE_HEIF_DAMAGED, error.what());
  }
  return false;
}

void sluice_heif_take(sluice_heif *file, unsigned char *pixels) {
  int stride = 0;
  const unsigned char *from = heif_image_get_plane_readonly(file->decoded.get(), heif_channel_interleaved, &stride);
  const size_t line = static_cast<size_t>(file->facts.width) * bands(file);
  for (int row = 0; row < file->facts.height; row++)
    memcpy(pixels + static_cast<size_t>(row) * line, from + static_cast<size_t>(row) * stride, line);
  file->decoded.reset();
}

/* Takes the first `skipped` bytes off the front. */
static void *keep(std::vector<unsigned char> bytes, size_t skipped, size_t *size) {
  if (bytes.size() <= skipped) return nullptr;
  *size = bytes.size() - skipped;
  void *kept = malloc(*size);
  if (kept) memcpy(kept, bytes.data() + skipped, *size);
  return kept;
}

void *sluice_heif_exif(sluice_heif *file, int number, size_t *size) {
  try {
    const auto [handle, id] = file->exif.at(number);
    std::vector<unsigned char> bytes(heif_image_handle_get_metadata_size(handle, id));
    if (bytes.size() <= 4 || heif_image_handle_get_metadata(handle, id, bytes.data()).code != heif_error_Ok) return nullptr;
    /* The distance to the header of the TIFF comes first (ISO/IEC 23008-12, A.2.1). */
    const size_t distance = size_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
    if (distance < bytes.size()) return keep(std::move(bytes), 4 + distance, size);
  } catch (const std::exception &) {}
  return nullptr;
}

void *sluice_heif_profile(sluice_heif *file, size_t *size) {
  try {
    std::vector<unsigned char> bytes(heif_image_handle_get_raw_color_profile_size(file->handle.get()));
    if (bytes.empty() || heif_image_handle_get_raw_color_profile(file->handle.get(), bytes.data()).code != heif_error_Ok)
      return nullptr;
    return keep(std::move(bytes), 0, size);
  } catch (const std::exception &) {}
  return nullptr;
}
