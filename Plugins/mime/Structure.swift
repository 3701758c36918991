import StageKit

/// The media type by the structure of the content, where libmagic's answer is vague or goes by the order of parts.
enum Structure {
  /// - Parameters:
  ///   - found: libmagic's answer.
  ///   - head: the first KiB.
  /// - Returns: the type, or `nil` where libmagic's answer stands.
  static func type(
    of attachment: Attachment, found: String, head: UnsafeRawBufferPointer
  ) throws(Outcome) -> String? {
    if head.starts(with: zip) {
      if let type = try ZipContainer.type(of: attachment) { return type }
      // libmagic saw the name of a part, and no list says what the document is.
      let isUnsure = found == unknown || OfficeDocument.isKind(found)
      return isUnsure ? "application/zip" : nil
    }
    if found == unknown || found == "text/plain", try hasPDF(attachment) { return "application/pdf" }
    if let type = MediaBrands.type(head, found: found) { return type }
    guard found == unknown || Families.isText(found) else { return nil }
    if let type = try RootElement.type(of: attachment, found: found, head) { return type }
    return found == unknown || found == "text/plain" ? try JSONBeginning.type(of: attachment, head) : nil
  }

  private static let unknown = "application/octet-stream"
  private static let zip: [UInt8] = [0x50, 0x4B, 3, 4]

  /// Readers find a header behind up to 1,024 bytes (PDF 32000-1:2008, annex H, implementation note 13). A text that speaks of PDF
  /// has no end of one.
  private static func hasPDF(_ attachment: Attachment) throws(Outcome) -> Bool {
    let head = try attachment.read(1024 + 5, at: 0)
    guard head.withUnsafeBytes({ contains($0, "%PDF-") }) else { return false }
    let length = min(attachment.size, 1024)
    let tail = try attachment.read(Int(length), at: attachment.size - length)
    return tail.withUnsafeBytes { contains($0, "%%EOF") && contains($0, "startxref") }
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: String) -> Bool {
    bytes.indices.contains { bytes[$0...].starts(with: text.utf8) }
  }
}
