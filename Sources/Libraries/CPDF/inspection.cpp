#include "document.h"

#include <Dict.h>
#include <XRef.h>
#include <set>
#include <unordered_set>
#include <vector>

namespace {

/* What an object is by the place it stands in: a dictionary may be a field, an annotation and a page at once. */
enum class Part : uint64_t {
  page_node, /* A node of the page tree. */
  action,    /* ISO 32000-2, 12.6. */
  events,    /* A dictionary of actions by event (12.6.3). */
  annotation,
  field,
  outline,
  navigation, /* A step of a page that is a presentation (12.4.4.2). */
  script_names,
  file_names,
  file, /* A file specification (7.11.3). */
  artwork, /* 3D (13.6.3). */
};

/* Follows references from the catalog without recursion: a document may chain a million objects. */
class Inspection {
public:
  explicit Inspection(XRef *xref) : xref(xref) {}

  sluice_pdf_findings findings = {false, 0};
  int32_t pages = 0;

  void count_pages(Dict *catalog) {
    Object root = catalog->lookup("Pages");
    /* A tree without leaves is no page, unless it says that it is one. */
    if (root.isDict() && (root.dictIs("Page") || root.getDict()->hasKey("Kids"))) follow(catalog, "Pages", Part::page_node);
    run();
  }

  void inspect(Dict *catalog) {
    looks_into_pages = true;
    count_pages(catalog);
    follow(catalog, "OpenAction", Part::action);
    follow(catalog, "AA", Part::events);
    follow(catalog, "Outlines", Part::outline);
    follow(catalog, "AF", Part::file);
    Object names = catalog->lookup("Names"), form = catalog->lookup("AcroForm");
    if (names.isDict()) {
      follow(names.getDict(), "JavaScript", Part::script_names);
      follow(names.getDict(), "EmbeddedFiles", Part::file_names);
    }
    if (form.isDict()) follow(form.getDict(), "Fields", Part::field);
    run();
    findings.attachments = static_cast<int32_t>(files.size());
  }

private:
  struct Step {
    Object object;
    Part part;
  };

  XRef *xref;
  bool looks_into_pages = false;
  std::vector<Step> steps;
  std::unordered_set<uint64_t> seen;
  std::unordered_set<int> leaves;
  std::set<std::pair<int, int>> files;

  void follow(Dict *dict, const char *key, Part part) { follow(dict->lookupNF(key), part); }

  void follow(const Object &value, Part part) {
    if (value.isRef() || value.isDict() || value.isArray() || value.isStream()) steps.push_back({value.copy(), part});
  }

  void run() {
    while (!steps.empty()) {
      Step step = std::move(steps.back());
      steps.pop_back();
      const int number = step.object.isRef() ? step.object.getRefNum() : -1;
      if (number >= 0 && !seen.insert(static_cast<uint64_t>(number) << 8 | static_cast<uint64_t>(step.part)).second) {
        /* Readers show a page twice if the tree has it twice. */
        if (step.part == Part::page_node && leaves.count(number)) count_page();
        continue;
      }
      Object object = step.object.fetch(xref);
      if (object.isArray()) {
        /* Kids, annotations, fields, files and further actions stand in arrays. As a first action, an array is a destination and
         * has no actions inside. */
        for (int i = object.arrayGetLength() - 1; i >= 0; i--) follow(object.arrayGetNF(i), step.part);
      } else if (object.isDict()) {
        look(object.getDict(), step.part, number);
      } else if (object.isStream()) {
        look(object.getStream()->getDict(), step.part, number);
      }
    }
  }

  void look(Dict *dict, Part part, int number) {
    switch (part) {
    case Part::page_node: return page_node(dict, number);
    case Part::action: return action(dict);
    case Part::events:
      for (int i = 0; i < dict->getLength(); i++) follow(dict->getValNF(i), Part::action);
      return;
    case Part::annotation: return annotation(dict);
    case Part::field:
      follow(dict, "A", Part::action);
      follow(dict, "AA", Part::events);
      follow(dict, "Kids", Part::field);
      follow(dict, "Parent", Part::field);
      return;
    case Part::outline:
      follow(dict, "A", Part::action);
      follow(dict, "First", Part::outline);
      follow(dict, "Next", Part::outline);
      return;
    case Part::navigation:
      for (const char *key : {"NA", "PA"}) follow(dict, key, Part::action);
      for (const char *key : {"Next", "Prev"}) follow(dict, key, Part::navigation);
      return;
    case Part::script_names: return names(dict, part, Part::action);
    case Part::file_names: return names(dict, part, Part::file);
    case Part::file: return file(dict);
    case Part::artwork:
      if (dict->lookup("OnInstantiate").isStream()) findings.has_script = true;
      follow(dict, "3DD", Part::artwork);
      return;
    }
  }

  void page_node(Dict *dict, int number) {
    /* As poppler tells them apart. */
    if (dict->hasKey("Kids") && !dict->is("Page")) return follow(dict, "Kids", Part::page_node);
    count_page();
    if (number >= 0) leaves.insert(number);
    if (!looks_into_pages) return;
    follow(dict, "AA", Part::events);
    follow(dict, "Annots", Part::annotation);
    follow(dict, "AF", Part::file);
    follow(dict, "PresSteps", Part::navigation);
  }

  void count_page() {
    if (pages < INT32_MAX) pages++;
  }

  void action(Dict *dict) {
    const Object kind = dict->lookup("S");
    if (kind.isName("JavaScript") || kind.isName("Rendition")) {
      const Object script = dict->lookup("JS");
      if (script.isString() || script.isStream()) findings.has_script = true;
    }
    follow(dict, "Next", Part::action);
  }

  void annotation(Dict *dict) {
    follow(dict, "A", Part::action);
    follow(dict, "PA", Part::action);
    follow(dict, "AA", Part::events);
    follow(dict, "AF", Part::file);
    const Object kind = dict->lookup("Subtype");
    if (kind.isName("Widget")) follow(dict, "Parent", Part::field);
    if (kind.isName("FileAttachment")) follow(dict, "FS", Part::file);
    if (kind.isName("3D")) follow(dict, "3DD", Part::artwork);
    if (kind.isName("RichMedia")) rich_media(dict);
  }

  /* Scripts to run when a reader activates the annotation (13.7.2). */
  void rich_media(Dict *dict) {
    Object settings = dict->lookup("RichMediaSettings");
    if (!settings.isDict()) return;
    Object activation = settings.dictLookup("Activation");
    if (!activation.isDict()) return;
    const Object scripts = activation.dictLookup("Scripts");
    if (scripts.isArray() && scripts.arrayGetLength() > 0) findings.has_script = true;
  }

  void names(Dict *dict, Part node, Part value) {
    follow(dict, "Kids", node);
    Object names = dict->lookup("Names");
    if (!names.isArray()) return;
    for (int i = 1; i < names.arrayGetLength(); i += 2) follow(names.arrayGetNF(i), value);
  }

  void file(Dict *dict) {
    Object embedded = dict->lookup("EF");
    if (!embedded.isDict()) return;
    for (const char *key : {"UF", "F", "Unix", "DOS", "Mac"}) {
      const Object &content = embedded.dictLookupNF(key);
      if (!content.isRef() || !content.fetch(xref).isStream()) continue;
      files.insert({content.getRefNum(), content.getRefGen()});
      return;
    }
  }
};

} // namespace

/* Corrects Count, because poppler loads no page beyond it. */
static void correct_count(sluice_pdf *pdf, Dict *catalog) {
  const Object &root = catalog->lookupNF("Pages");
  Object tree = catalog->lookup("Pages");
  if (!root.isRef() || !tree.isDict() || !tree.dictLookup("Kids").isArray()) return;
  const Object count = tree.dictLookup("Count");
  if (count.isInt() && count.getInt() == pdf->pages) return;
  tree.dictSet("Count", Object(static_cast<int>(pdf->pages)));
  pdf->document->getXRef()->setModifiedObject(&tree, root.getRef());
}

static sluice_pdf_findings inspect(sluice_pdf *pdf, bool looks_for_actions) {
  sluice_pdf_findings findings = {false, 0};
  int32_t pages = 0;
  do {
    pdf->is_repaired = false; /* Objects before a repair may be others after it. */
    Object catalog = pdf->document->getXRef()->getCatalog();
    if (!catalog.isDict()) continue;
    Inspection inspection(pdf->document->getXRef());
    looks_for_actions ? inspection.inspect(catalog.getDict()) : inspection.count_pages(catalog.getDict());
    findings = inspection.findings;
    pages = inspection.pages;
  } while (pdf->is_repaired);
  if (pdf->pages >= 0) return findings;
  pdf->pages = pages;
  if (pdf->pages > 0) {
    Object catalog = pdf->document->getXRef()->getCatalog();
    if (catalog.isDict()) correct_count(pdf, catalog.getDict());
    /* From here on poppler loads no page beyond that. */
    pdf->document->getCatalog()->getNumPages();
  } else {
    /* Of a linearized file with a damaged tree, poppler may still find the first page, unless it has tried to repair the tree. */
    pdf->has_tree = false;
    sluice_pdf_read(pdf);
    pdf->pages = pdf->document->getNumPages();
  }
  return findings;
}

sluice_pdf_findings sluice_pdf_inspect(sluice_pdf *pdf) { return inspect(pdf, true); }

int32_t sluice_pdf_pages(sluice_pdf *pdf) {
  if (pdf->pages < 0) inspect(pdf, false);
  return pdf->pages;
}
