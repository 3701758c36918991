import FrontWire
import HTTPServer
import Platform

/// Stores the body of a request, or the file of a form, in a file.
final class StoredBody: BodySink {
  private let exchange: Exchange
  private let writer: FileWriter
  private let task: FileWriter.Task
  /// Bytes that may still come.
  private var room: Int64
  /// Bytes in memory that are not written.
  private var pending = 0
  private var isPaused = false
  private var (isWhole, isTooLong, isMalformed) = (false, false, false)
  /// `nil`: the body is what is stored.
  private var reader: FormReader?
  private var form = Form()
  /// Bytes of its texts that may still come.
  private var formRoom = Form.textLimit
  /// The part under way; `nil`: that of the file, which `hasFile` then says.
  private var field: (name: String, value: [UInt8])?
  private var hasFile = false
  private let onEnd: (Stored) -> Void

  private static let mostPending = 1 << 20
  /// As few as this before more is read.
  private static let fewPending = 256 << 10

  /// `nil`: the body is to be a form, and its type says that it is none.
  init?(
    _ exchange: Exchange, _ file: SharedDescriptor, _ order: StoreOrder, _ writer: FileWriter,
    onEnd: @escaping (Stored) -> Void
  ) {
    (self.exchange, self.writer, self.onEnd) = (exchange, writer, onEnd)
    task = FileWriter.Task(file, order)
    room = order.limit
    if order.isForm {
      reader = FormReader(contentType: exchange.head.value("content-type") ?? "")
      if reader == nil { return nil }
    }
    task.body = self
  }

  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if reader == nil {
      store(bytes)
    } else if !isMalformed {
      do {
        try reader?.take(bytes) { try take($0) }
      } catch {
        isMalformed = true
      }
    }
    isPaused = pending >= Self.mostPending
    return !isPaused
  }

  private func take(_ piece: FormReader.Piece) throws {
    switch piece {
    case .part(let part):
      try count(part.name, part.fileName ?? "", part.contentType ?? "")
      if form.fields.count == Form.fieldLimit { throw Self.tooMuch }
      guard let name = part.fileName else {
        field = (part.name, [])
        return
      }
      if hasFile { throw FormReader.Fault(reason: "the form has two files") }
      hasFile = true
      (form.fileName, form.contentType) = (name, part.contentType)
    case .bytes(let bytes):
      guard field != nil else { return store(bytes) }
      if bytes.count > formRoom { throw Self.tooMuch }
      formRoom -= bytes.count
      field?.value += bytes
    case .partEnded:
      guard let ended = field else { return }
      guard let value = String(validating: ended.value, as: UTF8.self), !ended.value.contains(0) else {
        throw FormReader.Fault(reason: "a field of the form is no text in UTF-8")
      }
      form.fields.append(FrontRequest.Pair(ended.name, value))
      field = nil
    }
  }

  private static let tooMuch = FormReader.Fault(reason: "the form has too much beside its file")

  private func count(_ texts: String...) throws {
    formRoom -= texts.reduce(0) { $0 + $1.utf8.count }
    if formRoom < 0 { throw Self.tooMuch }
    if texts.contains(where: { $0.utf8.contains(0) }) {
      throw FormReader.Fault(reason: "a name in the form has a NUL character")
    }
  }

  private func store(_ bytes: UnsafeRawBufferPointer) {
    let taken = Int(min(Int64(bytes.count), room))
    if taken < bytes.count { isTooLong = true }
    if taken > 0 {
      room -= Int64(taken)
      pending += taken
      writer.write([UInt8](UnsafeRawBufferPointer(rebasing: bytes[..<taken])), task)
    }
  }

  func end() {
    isWhole = true
    if let reader, !reader.isWhole || !hasFile { isMalformed = true }
    writer.finish(task)
  }

  func cut() { writer.finish(task) }

  /// So many bytes are written, or cannot be.
  func progress(_ count: Int) {
    pending -= count
    guard isPaused, pending <= Self.fewPending else { return }
    isPaused = false
    exchange.resumeBody()
  }

  func ended(_ written: Int64, _ error: Int32, _ digest: [UInt8]) {
    onEnd(
      Stored(
        bytes: written, isWhole: isWhole, isTooLong: isTooLong, error: error, digest: digest,
        isMalformed: isMalformed, form: isMalformed ? Form() : form))
  }
}
