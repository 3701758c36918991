#ifndef SLUICE_PDF_FILES_H
#define SLUICE_PDF_FILES_H

#include "include/pdf.h"

/* Where Debian's poppler-data puts its tables. */
#define SLUICE_PDF_TABLES "/usr/share/poppler"

/* Maps the tables, for poppler to find them in memory. */
void sluice_pdf_map_tables(void);

/* From now on poppler opens only files in memory. False: poppler does not import fopen(3), or the table of imported functions
 * cannot be written. */
bool sluice_pdf_confine(void);

#endif
