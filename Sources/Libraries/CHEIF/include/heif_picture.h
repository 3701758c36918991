/* The main picture of a HEIC or AVIF, as libheif reads it, without a thread. C++ inside, because libheif throws exceptions
 * out of its functions in C where there is no memory. */
#ifndef SLUICE_HEIF_PICTURE_H
#define SLUICE_HEIF_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open file. */
typedef struct sluice_heif sluice_heif;

typedef enum sluice_heif_result {
  SLUICE_HEIF_DONE,
  SLUICE_HEIF_DAMAGED,
  SLUICE_HEIF_UNKNOWN, /* a feature or a codec that libheif does not have */
  SLUICE_HEIF_NO_MEMORY,
} sluice_heif_result;

typedef struct sluice_heif_facts {
  int width, height; /* of the main picture as it is shown: turned and cut as the file says */
  int pictures;      /* without thumbnails and masks */
  bool has_alpha;
  /* Of all pictures. */
  int exif_count;
  bool has_xmp, has_profile;
} sluice_heif_facts;

typedef struct sluice_heif_fault {
  sluice_heif_result result;
  char reason[200];
} sluice_heif_fault;

/* Loads what libheif loads once. Call it before the sandbox closes. */
bool sluice_heif_start(void);

/* Of libheif, and of libde265. */
const char *sluice_heif_version(void);
const char *sluice_hevc_version(void);

/* NULL where the file cannot be read; `fault` then says why. The bytes must outlive what is returned. */
sluice_heif *sluice_heif_open(const void *bytes, size_t size, sluice_heif_facts *facts, sluice_heif_fault *fault);
void sluice_heif_close(sluice_heif *file);

/* Decodes the main picture, which then has the size that `facts` told. */
bool sluice_heif_decode(sluice_heif *file, sluice_heif_fault *fault);
/* Copies what was decoded, once, to lines of three bytes a pixel, or of four where it has alpha. */
void sluice_heif_take(sluice_heif *file, unsigned char *pixels);

/* Metadata, allocated with malloc, or NULL. The EXIF blocks of all pictures are numbered from 0 and begin with the header of a TIFF;
 * the profile is the main picture's. */
void *sluice_heif_exif(sluice_heif *file, int number, size_t *size);
void *sluice_heif_profile(sluice_heif *file, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
