#ifndef SLUICE_PDF_FILES_H
#define SLUICE_PDF_FILES_H

#include "include/pdf.h"

/* Where Debian's poppler-data puts its tables. */
#define SLUICE_PDF_TABLES "/usr/share/poppler"

/* Maps the tables, for poppler to find them in memory. */
void sluice_pdf_map_tables(void);

/* From now on poppler opens only files that are kept in memory. False: it imports no fopen(3), or the system does not let the
 * table of imported functions be written. */
bool sluice_pdf_confine(void);

#endif
