/// Turns what comes into content, in rooms that are made once.
struct ContentDecoder: ~Copyable {
  struct Fault: Error {
    let reason: String
  }

  private var base64 = Base64Decoder()
  private var json: JSONText?
  private let characters: UnsafeMutableRawBufferPointer
  private let content: UnsafeMutableRawBufferPointer

  /// Bytes that are decoded at a time.
  private static let piece = 16 << 10

  /// `nil`: the body is the content.
  init?(_ form: ResponseForm) {
    switch form {
    case .body: return nil
    case .base64: break
    case .json(let pointer): json = JSONText(at: pointer)
    }
    characters = .allocate(byteCount: Self.piece, alignment: 1)
    content = .allocate(byteCount: Base64Decoder.room(for: Self.piece) + 3, alignment: 1)
  }

  deinit {
    characters.deallocate()
    content.deallocate()
  }

  /// Decodes a piece of the body, and hands on its content. Stops where `take` says false, and says so.
  mutating func decode(
    _ body: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Bool
  ) throws(Fault) -> Bool {
    var rest = body[...]
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.piece))
      rest = rest.dropFirst(piece.count)
      let count = try decoded(piece)
      if count > 0 && !take(UnsafeRawBufferPointer(rebasing: content[..<count])) { return false }
    }
    return true
  }

  private mutating func decoded(_ piece: UnsafeRawBufferPointer) throws(Fault) -> Int {
    var piece = piece
    do throws(JSONText.Fault) {
      if let count = try json?.read(piece, into: characters) {
        piece = UnsafeRawBufferPointer(rebasing: characters[..<count])
      }
    } catch { throw Fault(reason: error.reason) }
    do throws(Base64Decoder.Fault) { return try base64.decode(piece, into: content) } catch {
      throw Fault(reason: "the Base64 is not valid: \(error.reason)")
    }
  }

  /// Throws if something is missing.
  func finish() throws(Fault) {
    do throws(JSONText.Fault) { try json?.finish() } catch { throw Fault(reason: error.reason) }
    do throws(Base64Decoder.Fault) { try base64.finish() } catch {
      throw Fault(reason: "the Base64 is not valid: \(error.reason)")
    }
  }
}
