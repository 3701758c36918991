#include "document.h"
#include "files.h"

#include <Catalog.h>
#include <Error.h>
#include <ErrorCodes.h>
#include <GlobalParams.h>
#include <PDFDocEncoding.h>
#include <Page.h>
#include <TextOutputDev.h>
#include <cmath>
#include <poppler-config.h>

/* Of nine kB poppler can make 29 MB of messages. */
static void ignore(ErrorCategory, Goffset, const char *) {}

bool sluice_pdf_start(void) {
  static bool is_started;
  if (is_started) return true;
  sluice_pdf_map_tables();
  is_started = sluice_pdf_confine();
  if (globalParams || !is_started) return is_started; /* Another plugin in this process has done the rest. */
  GlobalParamsIniter::setCustomDataDir(SLUICE_PDF_TABLES);
  new GlobalParamsIniter(ignore); /* never freed */
  return true;
}

const char *sluice_pdf_poppler_version(void) { return POPPLER_VERSION; }

sluice_pdf *sluice_pdf_open(const void *bytes, size_t size, sluice_pdf_error *error) {
  auto pdf = std::make_unique<sluice_pdf>();
  pdf->bytes = static_cast<const char *>(bytes);
  pdf->size = static_cast<Goffset>(size);
  sluice_pdf_read(pdf.get());
  if (pdf->document->isOk()) {
    *error = SLUICE_PDF_OPENS;
    return pdf.release();
  }
  switch (pdf->document->getErrorCode()) {
  case errEncrypted: *error = SLUICE_PDF_NEEDS_PASSWORD; break;
  case errBadCatalog: *error = SLUICE_PDF_BAD_CATALOG; break;
  case errDamaged: *error = SLUICE_PDF_DAMAGED; break;
  default: *error = SLUICE_PDF_INVALID;
  }
  return nullptr;
}

void sluice_pdf_read(sluice_pdf *pdf) {
  auto stream = new MemStream(pdf->bytes, 0, pdf->size, Object(objNull)); /* which the document frees */
  pdf->document =
      std::make_unique<PDFDoc>(stream, std::nullopt, std::nullopt, nullptr, [pdf] { pdf->is_repaired = true; });
}

void sluice_pdf_close(sluice_pdf *pdf) { delete pdf; }

/* The page tree is asked first: the hint tables of a linearized file may lead elsewhere. */
static Page *load(sluice_pdf *pdf, int32_t page) {
  sluice_pdf_pages(pdf);
  if (page < 0 || page == INT32_MAX) return nullptr;
  Page *loaded = pdf->has_tree ? pdf->document->getCatalog()->getPage(page + 1) : nullptr;
  return loaded ? loaded : pdf->document->getPage(page + 1);
}

bool sluice_pdf_loads(sluice_pdf *pdf, int32_t page) { return load(pdf, page) != nullptr; }

bool sluice_pdf_size(sluice_pdf *pdf, int32_t page, double *width, double *height) {
  Page *loaded = load(pdf, page);
  if (!loaded) return false;
  const bool is_turned = loaded->getRotate() == 90 || loaded->getRotate() == 270;
  *width = is_turned ? loaded->getCropHeight() : loaded->getCropWidth();
  *height = is_turned ? loaded->getCropWidth() : loaded->getCropHeight();
  Object object = pdf->document->getXRef()->fetch(loaded->getRef());
  if (!object.isDict()) return true;
  Object unit = object.dictLookup("UserUnit");
  if (unit.isNum() && unit.getNum() > 0 && std::isfinite(unit.getNum())) {
    *width *= unit.getNum();
    *height *= unit.getNum();
  }
  return true;
}

bool sluice_pdf_text(sluice_pdf *pdf, int32_t page, void (*piece)(void *, const char *, int), void *context) {
  Page *loaded = load(pdf, page);
  if (!loaded) return false;
  TextOutputDev output(piece, context, false, 0, false);
  output.setTextPageBreaks(false);
  /* Poppler crashes where it draws an annotation of a page beyond the number in a linearized file's first dictionary. */
  bool draws_annotations = page < pdf->document->getNumPages();
  const auto decide = [](Annot *, void *draws) { return *static_cast<bool *>(draws); };
  /* With the media box, as pdftotext does: text beyond the crop box counts. */
  loaded->display(&output, 72, 72, 0, true, false, false, nullptr, nullptr, decide, &draws_annotations);
  return true;
}

void sluice_pdf_version(sluice_pdf *pdf, int *major, int *minor) {
  *major = pdf->document->getPDFMajorVersion();
  *minor = pdf->document->getPDFMinorVersion();
}

bool sluice_pdf_is_encrypted(sluice_pdf *pdf) { return pdf->document->isEncrypted(); }

bool sluice_pdf_is_linearized(sluice_pdf *pdf) {
  /* Poppler skips bytes before the header. With such bytes, the file is longer than its dictionary says. */
  return pdf->document->isLinearized() && pdf->document->getBaseStream()->getStart() == 0;
}

sluice_pdf_form sluice_pdf_form_kind(sluice_pdf *pdf) {
  switch (pdf->document->getCatalog()->getFormType()) {
  case Catalog::AcroForm: return SLUICE_PDF_ACROFORM;
  case Catalog::XfaForm: return SLUICE_PDF_XFA;
  default: return SLUICE_PDF_NO_FORM;
  }
}

const char *sluice_pdf_info(sluice_pdf *pdf, const char *key, size_t *size) {
  Object info = pdf->document->getDocInfo();
  if (!info.isDict()) return nullptr;
  Object value = info.dictLookup(key);
  if (!value.isString()) return nullptr;
  pdf->text = value.getString()->toStr();
  *size = pdf->text.size();
  return pdf->text.data();
}

const char *sluice_pdf_metadata(sluice_pdf *pdf, size_t limit, size_t *size) {
  Object catalog = pdf->document->getXRef()->getCatalog();
  if (!catalog.isDict()) return nullptr;
  Object metadata = catalog.dictLookup("Metadata");
  if (!metadata.isStream()) return nullptr;
  pdf->text.clear();
  Stream *stream = metadata.getStream();
  stream->reset();
  unsigned char buffer[4096];
  for (int count; pdf->text.size() <= limit && (count = stream->doGetChars(sizeof buffer, buffer)) > 0;)
    pdf->text.append(reinterpret_cast<char *>(buffer), static_cast<size_t>(count));
  stream->close();
  if (pdf->text.size() > limit) return nullptr;
  *size = pdf->text.size();
  return pdf->text.data();
}

uint32_t sluice_pdf_character(uint8_t byte) { return pdfDocEncoding[byte]; }
