import Glibc

// What a stage leaves beside the content.
extension Attachment {
  /// Begins an object beside the content, such as a thumbnail, and returns a descriptor to write it to, which only appends: the
  /// object ends where the next is begun, or the stage returns. It is kept if the attachment is completed. One of the same name
  /// takes the place of an earlier one.
  ///
  /// - Parameters:
  ///   - name: lower case, words joined by `-`, up to 64 bytes.
  ///   - mediaType: of the object.
  /// - Returns: `nil`: the host keeps none of this attachment, or it is the 65th; go on without it.
  public func derive(_ name: String, _ mediaType: String) -> Int32? {
    guard let table = pieceTable(SLUICE_EXTENSION_DERIVATION, sluice_derivation.self) else { return nil }
    let descriptor = table.pointee.begin(call, name, mediaType)
    return descriptor >= 0 ? descriptor : nil
  }

  /// The same, with all of the object at once. Throws a retry (`not-written`) where the system does not take it: a stage lists this
  /// code.
  public func derive(_ name: String, _ mediaType: String, _ bytes: UnsafeRawBufferPointer) throws(Outcome) {
    if let descriptor = derive(name, mediaType) { try Self.append(bytes, to: descriptor) }
  }

  /// Begins a content that was inside the content, such as a file of an archive, and returns a descriptor to write it to, as
  /// ``derive(_:_:)`` does. It becomes an attachment of the same message.
  ///
  /// - Parameters:
  ///   - fileName: as the content gives it: hostile.
  ///   - declaredType: the same.
  /// - Returns: `nil`: no more are taken; see ``childRoom``.
  public func addChild(_ fileName: String?, declaredType: String? = nil) -> Int32? {
    guard let table = pieceTable(SLUICE_EXTENSION_EXPANSION, sluice_expansion.self) else { return nil }
    let descriptor = table.pointee.begin(call, fileName, declaredType)
    return descriptor >= 0 ? descriptor : nil
  }

  /// How many contents may be taken out of this one yet, and their bytes in all.
  public var childRoom: (contents: UInt64, bytes: UInt64) {
    guard let table = pieceTable(SLUICE_EXTENSION_EXPANSION, sluice_expansion.self) else { return (0, 0) }
    var room: (contents: UInt64, bytes: UInt64) = (0, 0)
    table.pointee.room(call, &room.contents, &room.bytes)
    return room
  }

  /// Writes to what ``derive(_:_:)`` or ``addChild(_:declaredType:)`` has begun. Throws as ``derive(_:_:_:)`` does.
  public static func append(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Outcome) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw .retry("not-written", "writing beside the content: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// A table of the host's; `nil`: it has none of that name.
  private func pieceTable<Table>(_ name: String, _ type: Table.Type) -> UnsafePointer<Table>? {
    // A host of 1.0 ends before it.
    guard let end = MemoryLayout<sluice_host>.offset(of: \.extension), Int(host.pointee.size) > end else {
      return nil
    }
    return host.pointee.extension(call, name)?.assumingMemoryBound(to: Table.self)
  }
}
