import Platform
import Sealing
import Testing

struct SecretTests {
  private let text = "hunter2-hunter2"

  /// All the ways in which a program shows a value without meaning to.
  private func shown<Value>(_ value: Value) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    var printed = ""
    print(value, to: &printed)
    var debugPrinted = ""
    debugPrint(value, to: &debugPrinted)
    let optional: Value? = value
    return [
      "\(value)", String(describing: value), String(reflecting: value), dumped, printed, debugPrinted,
      "\([value])", "\(["key": value])", "\(optional as Any)", "\((value, value))",
      Mirror(reflecting: value).children.map { "\($0)" }.joined(), "\(Mirror(reflecting: value))",
    ]
  }

  private struct Holder {
    var name = "x"
    var secret: Secret
  }

  @Test func aSecretIsNeverShown() {
    for text in shown(Secret(text)) + shown(Holder(secret: Secret(text))) {
      #expect(!text.contains("hunter"), "\(text)")
      #expect(!text.contains("104"), "its first byte: \(text)")
    }
    #expect("\(Secret(text))" == "«secret»")
    #expect(String(reflecting: Secret(text)) == "«secret»")
    #expect("\(Holder(secret: Secret(text)))".contains("«secret»"))
  }

  @Test func aKeyIsNeverShown() throws {
    let key = try Samples.key(1)
    let bytes = try #require(Hexadecimal.bytes(Samples.digits(1)))
    let found = try FoundKey.find(
      .environment("KEY"), home: "", makesKey: false, environment: ["KEY": Samples.digits(1)])
    for text in shown(key) + shown(try Samples.vault()) + shown(found) {
      #expect(!text.contains(Samples.digits(1).prefix(8)), "\(text)")
      #expect(!text.contains("\(bytes[0]), \(bytes[1])"), "\(text)")
      #expect(!text.contains("- \(bytes[1])"), "\(text)")
    }
    #expect("\(key)" == "«secret»")
  }

  @Test func itsBytesAreLent() {
    #expect(Secret(text).withBytes { Array($0) } == Array(text.utf8))
    #expect(Secret([1, 2, 3]).withBytes { $0.count } == 3)
    #expect(Secret("").withBytes { Array($0) } == [])
    #expect(Secret(text).count == 15)
  }

  @Test func equalityIsOfAllBytes() {
    #expect(Secret(text) == Secret(text))
    #expect(Secret("") == Secret([]))
    for index in text.utf8.indices {
      var bytes = Array(text.utf8)
      bytes[text.utf8.distance(from: text.startIndex, to: index)] ^= 1
      #expect(Secret(bytes) != Secret(text))
    }
    #expect(Secret("hunter") != Secret("hunter2"))
    #expect(Secret("") != Secret("a"))
  }

  @Test func errorsHaveNothingOfTheValue() throws {
    let vault = try Samples.vault()
    let value = try vault.seal(Array(text.utf8), for: Samples.place)
    let error = #expect(throws: SealingError.self) {
      try vault.open(value, for: Place(table: "transfers", column: "request", row: "hunter2"))
    }
    #expect(error.map { shown($0).joined() }?.contains("hunter") == false)
  }
}
