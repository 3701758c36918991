import Glibc
import StageKit

/// A channel that appends each event to a file of the home, a line each.
struct Greeting: Stage {
  static let about = About(
    id: "greeting", version: "0.1.0", summary: "Appends each event to a file, a line each.",
    role: .channel, flushes: true,
    codes: [
      "unwritable": "The system cannot write the file.",
      "unreadable": "The system cannot tell the length of the file.",
    ])

  static let path = Option<String>.file(
    "path", default: "greeting.jsonl", help: "The file that events are appended to, relative to the home.")
  static let options: [any OptionDeclaration] = [path]

  private let file: File

  init(_ opening: Opening) throws(Outcome) {
    let path = opening[Self.path]
    guard let home = opening.folder else { throw .fail("unwritable", "no folder is granted") }
    // The home may be used until `init` returns, and what was opened in it for as long as the channel is open.
    let descriptor = openat(home, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 { throw .fail("unwritable", "\(path): \(String(cString: strerror(errno)))") }
    file = File(descriptor)
  }

  func process(_ attachment: Attachment) throws(Outcome) {
    guard let event = attachment.event else { return }
    // The body is one line of JSON, with the event's id first: who reads the file drops a line that is there twice, as
    // after a crash between the writing and the receipt.
    var line = Array(event.body)
    line.append(UInt8(ascii: "\n"))
    var before = stat()
    if fstat(file.descriptor, &before) != 0 { throw Self.fault("unreadable", errno) }
    let written = write(file.descriptor, line, line.count)
    if written == line.count { return }
    let failure = written < 0 ? errno : ENOSPC
    // No half a line.
    if ftruncate(file.descriptor, before.st_size) != 0 { throw Self.fault("unwritable", errno) }
    throw Self.fault("unwritable", failure)
  }

  /// A pass counts once this returns: many events are synced at once.
  func flush() throws(Outcome) {
    if fdatasync(file.descriptor) != 0 { throw Self.fault("unwritable", errno) }
  }

  /// A fault of the place and not of the event: the channel pauses with this reason, and the attempt does not count.
  private static func fault(_ code: String, _ number: Int32) -> Outcome {
    .pause(code, String(cString: strerror(number)))
  }
}

/// A file that is closed with the channel.
private final class File {
  let descriptor: Int32

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }
}

private let exported = Exported(Greeting.self)

@c(greeting_stage)
public func greeting_stage(_ hostMajor: UInt32) -> UnsafePointer<sluice_stage>? { exported.description }
