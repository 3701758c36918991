#include "poppler_files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <imports.h>
#include <string>

/* Declared here and not taken from <GlobalParams.h>, which Debian leaves to a package of its own. It tells where poppler
 * is. */
class GlobalParamsIniter {
public:
  static bool setCustomDataDir(const std::string &folder);
};
/* The same for poppler-glib and cairo. */
extern "C" const char *poppler_get_version(void);
extern "C" int cairo_version(void);

static const sluice_poppler_file *known;
static size_t known_count;

/* For cairo, which asks before it opens the font that stands for none. */
static int access_known(const char *path, int) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(path, known[i].path) == 0) return 0;
  errno = ENOENT;
  return -1;
}

/* FT_New_Memory_Face and FT_New_Face of FreeType: library, bytes and size or path, index, face. */
using face_of_memory = int(void *, const unsigned char *, long, long, void **);
static face_of_memory *make_face;

static int make_known_face(void *library, const char *path, long index, void **face) {
  for (size_t i = 0; i < known_count; i++)
    if (strcmp(path, known[i].path) == 0)
      return make_face(library, static_cast<const unsigned char *>(known[i].bytes), static_cast<long>(known[i].size),
                       index, face);
  return 1; /* FT_Err_Cannot_Open_Resource */
}

/* fprintf(3), as the compiler calls it where it checks the arguments. */
static int print_nothing(FILE *, int, const char *, ...) { return 0; }

extern "C" int sluice_poppler_files(const sluice_poppler_file *files, size_t count) {
  const void *poppler = reinterpret_cast<const void *>(&GlobalParamsIniter::setCustomDataDir);
  const void *glib = reinterpret_cast<const void *>(&poppler_get_version);
  const void *cairo = reinterpret_cast<const void *>(&cairo_version);
  sluice_import face = {poppler, "FT_New_Face", nullptr, false};
  sluice_import memory = {poppler, "FT_New_Memory_Face", nullptr, false};
  sluice_import print = {glib, "__fprintf_chk", nullptr, false};
  sluice_import ask = {cairo, "access", nullptr, false}, fallback = {cairo, "FT_New_Face", nullptr, false};
  if (!sluice_import_find(&ask) || !sluice_import_find(&fallback)) return 0;
  if (!sluice_import_find(&face) || !sluice_import_find(&memory) || !sluice_import_find(&print)) return 0;
  known = files;
  known_count = count;
  make_face = reinterpret_cast<face_of_memory *>(*memory.slot);
  return sluice_import_replace(&face, reinterpret_cast<void *>(&make_known_face)) &&
         sluice_import_replace(&ask, reinterpret_cast<void *>(&access_known)) &&
         sluice_import_replace(&fallback, reinterpret_cast<void *>(&make_known_face)) &&
         sluice_import_replace(&print, reinterpret_cast<void *>(&print_nothing));
}
