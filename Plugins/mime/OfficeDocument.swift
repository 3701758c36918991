import StageKit

/// The documents of Office (ECMA-376): `[Content_Types].xml` names the type of each part, and so the kind of document.
enum OfficeDocument {
  /// How much of the lists is unpacked, in bytes. A workbook of 10,000 sheets has 2 MB; expat reads an element of 16 MB for two
  /// seconds, from its beginning at each piece.
  private static let limit = 4 << 20

  /// The media type by the lists of a package; programs may use any of several. `nil`: of no kind that is known here, or
  /// a list cannot be read.
  static func type(_ lists: [ZipDirectory.Entry], _ attachment: Attachment) throws(Outcome) -> String? {
    var kinds = Kinds()
    var left = limit
    for list in lists {
      guard
        let parser = XMLElements({ _, attribute in
          if let type = attribute("ContentType") { kinds.add(type) }
          return true
        })
      else { throw .fail("out-of-memory", "there is no memory to read a part of the content") }
      // An element may span two pieces; what is wrong in XML ends the list.
      let isWhole = try ZipData.read(list, attachment, limit: left) {
        left -= $0.count
        return parser.read($0)
      }
      if !isWhole { return nil }
    }
    return kinds.best
  }

  static func isKind(_ mediaType: String) -> Bool { kinds.values.contains(mediaType) }

  /// The kinds of document that were named.
  private struct Kinds {
    private var plain: String?
    private var withMacros: String?
    private var hasMacros = false
    private var last = ""

    mutating func add(_ contentType: String) {
      if contentType == last { return }
      last = contentType
      let type = contentType.filter { !$0.isWhitespace }.lowercased()
      if type == "application/vnd.ms-office.vbaproject" { hasMacros = true }
      guard let kind = OfficeDocument.kinds[type] else { return }
      if kind.hasSuffix(".12") { withMacros = withMacros ?? kind } else { plain = plain ?? kind }
    }

    /// Some programs run the macros of a document that calls itself free of them.
    var best: String? {
      withMacros ?? plain.map { hasMacros ? OfficeDocument.enabled[$0] ?? $0 : $0 }
    }
  }

  /// The media type of a document by the type of its main part, in lower case.
  private static let kinds: [String: String] = {
    var kinds = [
      "application/vnd.ms-excel.sheet.binary.macroenabled.main":
        "application/vnd.ms-excel.sheet.binary.macroEnabled.12",
      "application/vnd.ms-word.template.macroenabledtemplate.main+xml":
        "application/vnd.ms-word.template.macroEnabled.12",
    ]
    for name in [
      "wordprocessingml.document", "wordprocessingml.template", "spreadsheetml.sheet",
      "spreadsheetml.template", "presentationml.presentation", "presentationml.slideshow",
      "presentationml.template",
    ] {
      let type = "application/vnd.openxmlformats-officedocument." + name
      kinds[type + ".main+xml"] = type
    }
    for name in [
      "word.document", "word.template", "excel.sheet", "excel.template", "excel.addin",
      "powerpoint.presentation", "powerpoint.slideshow", "powerpoint.template", "powerpoint.addin",
    ] {
      kinds["application/vnd.ms-\(name).macroenabled.main+xml"] = "application/vnd.ms-\(name).macroEnabled.12"
    }
    for name in ["drawing", "stencil", "template"] {
      let type = "application/vnd.ms-visio." + name
      kinds[type + ".main+xml"] = type
      kinds[type + ".macroenabled.main+xml"] = type + ".macroEnabled.12"
    }
    return kinds
  }()

  /// The type with macros of a type without.
  private static let enabled: [String: String] = {
    let office = "application/vnd.openxmlformats-officedocument."
    var enabled: [String: String] = [:]
    for (plain, name) in [
      ("wordprocessingml.document", "word.document"), ("wordprocessingml.template", "word.template"),
      ("spreadsheetml.sheet", "excel.sheet"), ("spreadsheetml.template", "excel.template"),
      ("presentationml.presentation", "powerpoint.presentation"),
      ("presentationml.slideshow", "powerpoint.slideshow"),
      ("presentationml.template", "powerpoint.template"),
    ] { enabled[office + plain] = "application/vnd.ms-\(name).macroEnabled.12" }
    return enabled
  }()
}
