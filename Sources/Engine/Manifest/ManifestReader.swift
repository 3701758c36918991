import Glibc
import LedgerPort
import Platform

/// Reads a manifest: JSON lines, one attachment each.
public struct ManifestReader: Sendable {
  /// The longest line, in bytes.
  private static let lineLimit = 1 << 20

  private let descriptor: Int32
  /// As the places of its lines begin.
  public let name: String
  private let lines: ManifestLineReader

  /// - Parameters:
  ///   - descriptor: open for reading; ``read(_:each:)`` closes it.
  ///   - name: of the manifest, for messages.
  public init(_ descriptor: Int32, name: String) throws {
    self.descriptor = descriptor
    self.name = name
    lines = try ManifestLineReader()
  }

  /// Passes each line's attachment, or the problem with the line, to the body until the body returns false.
  /// Call it once.
  ///
  /// - Parameter beforeWaiting: called before it waits for more input.
  public func read(
    _ defaults: IntakeDefaults, beforeWaiting: () -> Void = {},
    each body: (Result<IntakeItem, IntakeProblem>) -> Bool
  ) {
    defer { close(descriptor) }
    var buffer: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 256 << 10)
    var number = 0
    var isSkipping = false
    func take(_ line: ArraySlice<UInt8>) -> Bool {
      var line = line
      number += 1
      if number == 1 {
        if TextEncoding.isUTF16(line) {
          _ = body(.failure(IntakeProblem("\(name):1", "in UTF-16, and UTF-8 is read; save it as UTF-8")))
          return false
        }
        // "implementations that parse JSON texts MAY ignore the presence of a byte order mark" (RFC 8259,
        // section 8.1)
        if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
      }
      // The end of the line may come with the piece that makes it too long.
      if line.count > Self.lineLimit { return body(.failure(tooLong(number))) }
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return true }
      return body(lines.read(line, "\(name):\(number)", defaults))
    }
    while true {
      var readable = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&readable, 1, 0) == 0 { beforeWaiting() }
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      if count < 0 {
        _ = body(
          .failure(
            IntakeProblem(name, "\(String(cString: strerror(errno))); name a file of JSON lines")))
        return
      }
      if count == 0 { break }
      var rest = piece[..<count]
      while let newline = rest.firstIndex(of: 0x0A) {
        if isSkipping {
          isSkipping = false
        } else {
          buffer += rest[..<newline]
          let goOn = take(buffer[...])
          buffer.removeAll(keepingCapacity: true)
          if !goOn { return }
        }
        rest = rest[(newline + 1)...]
      }
      if !isSkipping { buffer += rest }
      if buffer.count > Self.lineLimit {
        number += 1
        isSkipping = true
        buffer.removeAll()
        if !body(.failure(tooLong(number))) { return }
      }
    }
    if !buffer.isEmpty { _ = take(buffer[...]) }
  }

  private func tooLong(_ number: Int) -> IntakeProblem {
    IntakeProblem("\(name):\(number)", "the line is longer than 1MB; passed over, the next is read")
  }
}
