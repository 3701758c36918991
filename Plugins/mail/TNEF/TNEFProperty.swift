/// One value of a message or a file, by the id of MS-OXPROPS.
struct TNEFProperty {
  let id: UInt16
  let value: UnsafeRawBufferPointer
  private let type: UInt16

  /// Reads a list of them (MS-OXTNEF, section 2.1.3.4).
  static func each(in bytes: UnsafeRawBufferPointer, _ take: (TNEFProperty) -> Void) throws(Fields.Cut) {
    var fields = Fields(bytes)
    let properties = try fields.number(UInt32.self)
    for _ in 0..<properties {
      let type = try fields.number(UInt16.self)
      let id = try fields.number(UInt16.self)
      let isNamed = id >= 0x8000
      if isNamed { try skipName(&fields) }
      let size = try size(of: type & 0x0FFF)
      let count = type & multiple != 0 || size == nil ? try fields.number(UInt32.self) : 1
      for _ in 0..<count {
        let length = if let size { size } else { Int(try fields.number(UInt32.self)) }
        let value = try fields.bytes(length)
        fields.skipPadding(behind: length)
        if !isNamed { take(TNEFProperty(id: id, value: value, type: type & 0x0FFF)) }
      }
    }
    // Others may read on behind them.
    if !(try fields.bytes(fields.left)).allSatisfy({ $0 == 0 }) { throw Fields.Cut() }
  }

  private static let multiple: UInt16 = 0x1000

  /// A property whose id depends on the stream has a name that does not: a number or a text in a set of its own.
  private static func skipName(_ fields: inout Fields) throws(Fields.Cut) {
    _ = try fields.bytes(16)
    if try fields.number(UInt32.self) == 0 {
      _ = try fields.number(UInt32.self)
    } else {
      let length = Int(try fields.number(UInt32.self))
      _ = try fields.bytes(length)
      fields.skipPadding(behind: length)
    }
  }

  /// Bytes of a value (MS-OXCDATA, section 2.11.1); `nil`: each says its own.
  private static func size(of type: UInt16) throws(Fields.Cut) -> Int? {
    switch type {
    case 0x02, 0x0B: 2
    case 0x03, 0x04, 0x0A: 4
    case 0x05, 0x06, 0x07, 0x14, 0x40: 8
    case 0x48: 16
    case 0x0D, 0x1E, 0x1F, 0x102: nil
    default: throw Fields.Cut()
    }
  }

  /// `nil`: it is none.
  var text: TNEFText? {
    switch type {
    case 0x1E: .bytes(value)
    case 0x1F: .utf16(value)
    default: nil
    }
  }

  /// `nil`: it is none of 32 bits.
  var number: Int? {
    type == 0x03 ? Int(UInt32(littleEndian: value.loadUnaligned(as: UInt32.self))) : nil
  }

  /// The value, of an object without the id of its interface. Some programs leave that out, or write it before what is none.
  var content: UnsafeRawBufferPointer {
    let behind = UnsafeRawBufferPointer(rebasing: value.dropFirst(16))
    return !TNEF.begins(value) && (type == 0x0D || TNEF.begins(behind)) ? behind : value
  }
}
