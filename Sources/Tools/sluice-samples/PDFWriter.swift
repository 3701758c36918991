/// Collects objects and lays them out as a PDF 1.7 file: ISO 32000-1 clause 7.5.
struct PDFWriter {
  /// The object numbered `index + 1`.
  private var objects: [PDFObject] = []

  /// A number for an object that others refer to before it is known; null until it is defined (7.3.9).
  mutating func reserve() -> PDFReference {
    add(.null)
  }

  mutating func add(_ object: PDFObject) -> PDFReference {
    objects.append(object)
    return PDFReference(number: objects.count)
  }

  mutating func define(_ reference: PDFReference, as object: PDFObject) {
    objects[reference.number - 1] = object
  }

  /// The file: header, body, cross-reference table, trailer.
  func file(root: PDFReference, info: PDFReference? = nil) -> [UInt8] {
    file(trailer: trailer(root, info)) { _ in { $0 } }
  }

  /// The same, encrypted. Throws `SampleError` where OpenSSL refuses a digest.
  func file(root: PDFReference, info: PDFReference?, security: StandardSecurityHandler) throws -> [UInt8] {
    let trailer = trailer(root, info) + security.trailerEntries
    return try file(trailer: trailer) { try security.cipher(forObject: $0) }
  }

  /// File trailer: 7.5.5.
  private func trailer(_ root: PDFReference, _ info: PDFReference?) -> PDFObject.Entries {
    var entries: PDFObject.Entries = [("Size", .integer(objects.count + 1)), ("Root", .reference(root))]
    if let info { entries.append(("Info", .reference(info))) }
    return entries
  }

  private func file(
    trailer: PDFObject.Entries,
    cipher: (_ objectNumber: Int) throws -> StandardSecurityHandler.Cipher
  ) rethrows -> [UInt8] {
    // 7.5.2: a comment of bytes above 127 tells transfer programs that the file is binary.
    var bytes = Array("%PDF-1.7\n%".utf8) + [0xE2, 0xE3, 0xCF, 0xD3, 0x0A]
    var offsets: [Int] = []
    for (number, object) in zip(1..., objects) {
      offsets.append(bytes.count)
      bytes.append(ascii: "\(number) 0 obj\n")
      object.write(to: &bytes, encrypt: try cipher(number))
      bytes.append(ascii: "\nendobj\n")
    }
    let startOfTable = bytes.count
    bytes.append(ascii: crossReferenceTable(offsets))
    bytes.append(ascii: "trailer\n")
    PDFObject.dictionary(trailer).write(to: &bytes) { $0 }
    bytes.append(ascii: "\nstartxref\n\(startOfTable)\n%%EOF\n")
    return bytes
  }

  /// 7.5.4: an entry is exactly 20 bytes, of which the last two end the line. Object 0 heads the free list.
  private func crossReferenceTable(_ offsets: [Int]) -> String {
    let entries = offsets.map { decimal($0, width: 10) + " 00000 n \n" }
    return "xref\n0 \(offsets.count + 1)\n0000000000 65535 f \n" + entries.joined()
  }
}
