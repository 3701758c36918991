import FrontWire
import HTTPServer

/// The parts of a form with one file, as they come: the texts are kept, the file's bytes are passed on.
struct FormParts {
  private var reader: FormReader
  private(set) var form = Form()
  /// Bytes of the texts that may still come.
  private var room = Form.textLimit
  /// The text under way; `nil`: that is the file, if there is one.
  private var field: (name: String, value: [UInt8])?
  private var hasFile = false
  /// A file input that nobody has filled in, as browsers send it: without a name, and without a byte.
  private var isUnused = false

  /// Whether all of it has come.
  var isWhole: Bool { reader.isWhole && hasFile }

  /// - Parameter contentType: of the request; `nil` is returned where it is that of no form.
  init?(contentType: String?) {
    guard let reader = FormReader(contentType: contentType ?? "") else { return nil }
    self.reader = reader
  }

  /// - Throws: ``FormReader/Fault``; nothing more is to be given then.
  mutating func take(_ bytes: UnsafeRawBufferPointer, _ store: (UnsafeRawBufferPointer) -> Void) throws {
    // While the reader has the bytes, the rest of this is changed.
    var reader = reader
    try reader.take(bytes) { try take($0, store) }
    self.reader = reader
  }

  private mutating func take(
    _ piece: FormReader.Piece, _ store: (UnsafeRawBufferPointer) -> Void
  ) throws {
    switch piece {
    case .part(let part):
      try count(part.name, part.fileName ?? "", part.contentType ?? "")
      if form.fields.count == Form.fieldLimit { throw Self.tooMuch }
      guard let name = part.fileName else {
        field = (part.name, [])
        return
      }
      isUnused = hasFile && name.isEmpty
      if isUnused { return }
      if hasFile { throw FormReader.Fault(reason: "the form has two files") }
      hasFile = true
      (form.fileName, form.contentType) = (name, part.contentType)
    case .bytes(let bytes):
      if isUnused { throw FormReader.Fault(reason: "the form has two files") }
      guard field != nil else { return store(bytes) }
      if bytes.count > room { throw Self.tooMuch }
      room -= bytes.count
      field?.value += bytes
    case .partEnded:
      isUnused = false
      guard let ended = field else { return }
      guard let value = String(validating: ended.value, as: UTF8.self), !ended.value.contains(0) else {
        throw FormReader.Fault(reason: "a field of the form is no text in UTF-8")
      }
      form.fields.append(FrontRequest.Pair(ended.name, value))
      field = nil
    }
  }

  private static let tooMuch = FormReader.Fault(reason: "the form has too much beside its file")

  private mutating func count(_ texts: String...) throws {
    room -= texts.reduce(0) { $0 + $1.utf8.count }
    if room < 0 { throw Self.tooMuch }
    if texts.contains(where: { $0.utf8.contains(0) }) {
      throw FormReader.Fault(reason: "a name in the form has a NUL character")
    }
  }
}
