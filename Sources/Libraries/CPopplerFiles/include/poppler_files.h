/* The files that poppler may open, from memory. C++, because poppler's function is C++. */
#ifndef SLUICE_POPPLER_FILES_H
#define SLUICE_POPPLER_FILES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sluice_poppler_file {
  const char *path;
  const void *bytes;
  size_t size;
} sluice_poppler_file;

/* From now on poppler finds these files in memory, and no others anywhere: it looks at a font's file whenever a
 * document does not embed the font, also if it has read the same file before, as does cairo for text without a font;
 * and the sandbox ends a process that opens one. poppler-glib writes no more to standard error, which it does for each font it cannot use.
 *
 * Takes the place of access(2), fprintf(3) and FreeType's FT_New_Face in the tables of imported functions of poppler, poppler-glib
 * and cairo alone, for as long as the process lives, as do the files. CPDF has fopen(3) find none of them: poppler also tries
 * that, and draws the same without. Returns 0 if these import them no more, or if the system does not
 * let the tables be written. */
int sluice_poppler_files(const sluice_poppler_file *files, size_t count);

#ifdef __cplusplus
}
#endif
#endif
