import Platform
import Sealing
import Testing

struct VaultTests {
  @Test func whatIsSealedOpensAtItsPlace() throws {
    let vault = try Samples.vault()
    var random = SplitMix(state: 1)
    for size in Array(0...70) + [255, 256, 257, 300, 4095, 4096, 4097, 65_535, 65_536] {
      let plain = (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      let value = try vault.seal(plain, for: Samples.place)
      #expect(value.count == size + Vault.overhead)
      #expect(try vault.open(value, for: Samples.place) == plain, "\(size) bytes")
      #expect(try vault.openSecret(value, for: Samples.place) == Secret(plain))
    }
  }

  @Test func aValueHasItsVersionAndKeyInFrontAndNothingOfThePlainText() throws {
    let vault = try Samples.vault()
    let plain = Array("https://files.example/a?token=5f3c".utf8)
    let value = try vault.seal(plain, for: Samples.place)
    #expect(Vault.overhead == 33)
    #expect(value.first == 1)
    #expect(Hexadecimal.text(Array(value[1..<5])) == "\(vault.keyID)")
    #expect(vault.keyID(of: value) == vault.keyID)
    for start in 0...plain.count - 4 {
      let part = plain[start..<start + 4]
      #expect(!value.indices.contains { value[$0...].starts(with: part) })
    }
  }

  @Test func equalValuesAreSealedDifferently() throws {
    let vault = try Samples.vault()
    let values = try (0..<1000).map { _ in try vault.seal([1, 2, 3], for: Samples.place) }
    #expect(Set(values.map { Array($0[5..<17]) }).count == 1000, "each has a nonce of its own")
    #expect(Set(values.map { Array($0[17...]) }).count == 1000)
  }

  /// Sealed by another program, from the description of the format.
  @Test func theFormatStaysAsItIs() throws {
    let vault = try Samples.vault()
    let value = try #require(Hexadecimal.bytes(Self.golden))
    #expect(
      try vault.open(value, for: Place(table: "transfers", column: "request", row: 7))
        == Array("GET https://files.example/report.pdf".utf8))
    #expect("\(vault.keyID)" == Self.goldenKey)
    #expect(
      Hexadecimal.text(try vault.blindIndex(Array("ann@example.org".utf8), purpose: "email"))
        == Self.goldenIndex)
    #expect(Hexadecimal.text(try vault.sessionIndex(Array("token".utf8))) == Self.goldenSession)
  }

  private static let golden =
    "01bbe69845000102030405060708090a0ba4cf5408728602e9f053c0c00ead052a482162e12320ac18a43f141ec7b4c7"
    + "eff34ac280d82c9da215d14dde8854e9003fce6e1c"
  private static let goldenKey = "bbe69845"
  private static let goldenIndex = "e45f0e6f9d3b0b1e07db78315a0d15eef5854f769fdb7989529e73cfc0219514"
  private static let goldenSession = "7875d685a25d5dd223491e975c0b7e61d79555b6c8218135a916feecc8db6be1"

  // MARK: What does not open

  /// Each differs from each other in one part, or has the same characters in other parts.
  private static let places: [Place] = [
    Place(table: "transfers", column: "request", row: 7),
    Place(table: "transfers", column: "request", row: 8),
    Place(table: "transfers", column: "request", row: "7"),
    Place(table: "transfers", column: "headers", row: 7),
    Place(table: "devices", column: "request", row: 7), Place(table: "transfersrequest", column: "", row: 7),
    Place(table: "", column: "transfersrequest", row: 7),
    Place(table: "transfer", column: "srequest", row: 7),
    Place(table: "transfers", column: "request", row: ""),
    Place(table: "transfers", column: "request", row: 0),
    Place(table: "transfers", column: "request7", row: ""),
    Place(table: "transfers", column: "request", row: 7 << 8),
    Place(table: "transfers", column: "request", row: -7),
    Place(table: "transfers", column: "request", row: .bytes([7, 0, 0, 0, 0, 0, 0, 0])),
    Place(table: "transfers", column: "request", row: .bytes([7])),
  ]

  @Test func aValueThatIsMovedDoesNotOpen() throws {
    let vault = try Samples.vault()
    var swaps = 0
    for from in Self.places {
      let value = try vault.seal(Array("secret".utf8), for: from)
      for to in Self.places where to != from {
        swaps += 1
        expectRefusal("\(from) to \(to)") { _ = try vault.open(value, for: to) }
      }
      #expect(try vault.open(value, for: from) == Array("secret".utf8))
    }
    #expect(swaps == 15 * 14)
    #expect(Set(Self.places.map(\.bytes)).count == 15)
  }

  @Test func aValueWithAFlippedBitDoesNotOpen() throws {
    let vault = try Samples.vault()
    var random = SplitMix(state: 2)
    var flips = 0
    while flips < 40_000 {
      let size = Int(random.next() % 200)
      let value = try vault.seal([UInt8](repeating: 0x41, count: size), for: Samples.place)
      for bit in 0..<value.count * 8 where flips < 40_000 {
        flips += 1
        var changed = value
        changed[bit / 8] ^= 1 << (bit % 8)
        do {
          _ = try vault.open(changed, for: Samples.place)
          Issue.record("bit \(bit) of \(value.count) bytes")
        } catch {
          // In the key's id it is another key; elsewhere the value is not what was sealed.
          if (8..<40).contains(bit) {
            #expect(error.isConfiguration)
          } else {
            #expect(error.code == .refused)
          }
        }
      }
    }
  }

  @Test func aValueThatIsCutOrLongerDoesNotOpen() throws {
    let vault = try Samples.vault()
    let value = try vault.seal([UInt8](repeating: 5, count: 40), for: Samples.place)
    for count in 0..<value.count {
      expectRefusal { _ = try vault.open(Array(value[..<count]), for: Samples.place) }
    }
    expectRefusal { _ = try vault.open(value + [0], for: Samples.place) }
    #expect(vault.keyID(of: Array(value[..<32])) == nil)
  }

  @Test func anotherHomesValueDoesNotOpen() throws {
    let value = try Samples.vault().seal([1], for: Samples.place)
    let other = try Samples.vault(home: Array("0123456789abcdeg".utf8))
    #expect(other.keyID != (try Samples.vault()).keyID)
    #expect(throws: SealingError.self) { try other.open(value, for: Samples.place) }
  }

  @Test func theMissingKeyIsNamed() throws {
    let first = try Samples.vault(1)
    let second = try Samples.vault(2, older: [3])
    let value = try first.seal([1], for: Samples.place)
    let error = #expect(throws: SealingError.self) { try second.open(value, for: Samples.place) }
    #expect(error?.code == .missingKey(first.keyID))
    #expect(error?.isConfiguration == true)
    #expect(
      error?.description
        == "a value of transfers.request is sealed with the key \(first.keyID), which is not among those given "
        + "(\(second.keyID), \(second.olderKeyIDs[0])); name it in the pipeline file, under 'old' of 'secrets'; "
        + "where it is lost, `sluice reset downloads` gives up what waits for it, and "
        + "`sluice rekey --give-up-lost` leaves the rest"
    )
  }

  /// A value with the id of one key and sealed by another, as a key's id is not secret.
  @Test func theWrongKeyDoesNotOpen() throws {
    let vault = try Samples.vault(1, older: [2])
    var value = try vault.seal([1, 2, 3], for: Samples.place)
    value.replaceSubrange(1..<5, with: try #require(Hexadecimal.bytes("\(vault.olderKeyIDs[0])")))
    #expect(vault.keyID(of: value) == vault.olderKeyIDs[0])
    expectRefusal { _ = try vault.open(value, for: Samples.place) }
  }

  // MARK: Older keys

  @Test func anOlderKeyOpensAndTheNewestSeals() throws {
    let old = try Samples.vault(1)
    let oldest = try Samples.vault(2)
    let values = [try old.seal([1], for: Samples.place), try oldest.seal([2], for: Samples.place)]
    let vault = try Samples.vault(3, older: [1, 2])
    #expect(try values.map { try vault.open($0, for: Samples.place) } == [[1], [2]])
    #expect(vault.olderKeyIDs == [old.keyID, oldest.keyID])
    #expect(vault.keyID(of: try vault.seal([3], for: Samples.place)) == vault.keyID)
  }

  @Test func resealingTakesTheNewestKeyOnce() throws {
    let old = try Samples.vault(1)
    let vault = try Samples.vault(2, older: [1])
    let value = try old.seal(Array("token".utf8), for: Samples.place)
    let renewed = try #require(try vault.reseal(value, for: Samples.place))
    #expect(vault.keyID(of: renewed) == vault.keyID)
    #expect(try vault.open(renewed, for: Samples.place) == Array("token".utf8))
    #expect(try vault.reseal(renewed, for: Samples.place) == nil)
    expectRefusal { _ = try vault.reseal(value, for: Place(table: "t", column: "c", row: 1)) }
    #expect(vault.seals == 1)
    #expect(throws: SealingError.self, "without the old key") {
      try Samples.vault(2).reseal(value, for: Samples.place)
    }
  }

  @Test func theSameKeyTwiceIsOne() throws {
    let vault = try Samples.vault(1, older: [1, 2, 2])
    #expect(vault.olderKeyIDs.count == 1)
  }

  // MARK: Limits

  @Test func sealsAreCountedAndEnd() throws {
    let vault = try Samples.vault(seals: Vault.rotationLimit - 1)
    #expect(!vault.rotationIsDue)
    _ = try vault.seal([], for: Samples.place)
    #expect(vault.rotationIsDue)
    #expect(vault.seals == Vault.rotationLimit)
    let last = try Samples.vault(seals: Vault.sealLimit - 1)
    let value = try last.seal([1], for: Samples.place)
    for _ in 0..<3 {
      let error = #expect(throws: SealingError.self) { try last.seal([1], for: Samples.place) }
      #expect(error?.code == .exhausted)
      #expect(error?.isConfiguration == true)
    }
    #expect(last.seals == Vault.sealLimit)
    #expect(try last.open(value, for: Samples.place) == [1], "opening goes on")
  }

  @Test func aValueBeyondTheLimitIsRefused() throws {
    let vault = try Samples.vault()
    let error = #expect(throws: SealingError.self) {
      try vault.seal([UInt8](repeating: 0, count: Vault.valueLimit + 1), for: Samples.place)
    }
    #expect(error?.code == .tooLarge)
    #expect(vault.seals == 0)
  }

  @Test func threadsShareAVault() throws {
    let vault = try Samples.vault()
    let threads = try (0..<4).map { number in
      try Thread {
        for row in 0..<500 {
          let place = Place(table: "t", column: "c", row: Int64(number * 1000 + row))
          let plain = [UInt8](repeating: UInt8(number), count: row)
          guard let value = try? vault.seal(plain, for: place), (try? vault.open(value, for: place)) == plain
          else {
            Issue.record("row \(row) of thread \(number)")
            return
          }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(vault.seals == 2000)
  }

  // MARK: Blind indexes

  @Test func aBlindIndexIsOfItsValuePurposeKeyAndHome() throws {
    let vault = try Samples.vault(1)
    let email = Array("ann@example.org".utf8)
    let index = try vault.blindIndex(email, purpose: "email")
    #expect(index.count == 32)
    #expect(try vault.blindIndex(email, purpose: "email") == index)
    let others = [
      try vault.blindIndex(Array("ann@example.orh".utf8), purpose: "email"),
      try vault.blindIndex(email, purpose: "login"),
      try vault.blindIndex(Array("lann@example.org".utf8), purpose: "emai"),
      try vault.blindIndex(Array("ailann@example.org".utf8), purpose: "em"),
      try Samples.vault(2).blindIndex(email, purpose: "email"),
      try Samples.vault(home: Array("0123456789abcdeg".utf8)).blindIndex(email, purpose: "email"),
      try vault.sessionIndex(email),
    ]
    #expect(Set(others + [index]).count == 8)
  }

  @Test func whileKeysChangeARowIsFoundByEach() throws {
    let email = Array("ann@example.org".utf8)
    let old = try Samples.vault(1).blindIndex(email, purpose: "email")
    let vault = try Samples.vault(2, older: [1])
    #expect(
      try vault.blindIndexes(email, purpose: "email") == [vault.blindIndex(email, purpose: "email"), old])
  }

  /// Expects a refusal.
  private func expectRefusal(_ hint: String = "", _ body: () throws -> Void) {
    let error = #expect(throws: SealingError.self, "\(hint)") { try body() }
    #expect(error?.code == .refused, "\(hint)")
    #expect(error?.isConfiguration == false)
  }

  // MARK: Blind indexes under another key

  @Test func blindIndexesStayWhatTheyAreUnderAnotherKey() throws {
    let old = try Samples.vault(1)
    let place = Place(table: "ledger", column: "index_key", row: 1)
    let index = try old.blindIndex([1, 2], purpose: "a")
    let between = try Samples.vault(2, older: [1])
    #expect(try between.blindIndex([1, 2], purpose: "a") != index)
    let sealed = try between.sealedIndexKey(ofKeyOf: try old.seal([3], for: Samples.place), for: place)
    #expect(between.keyID(of: sealed) == between.keyID)
    let bytes = try between.open(sealed, for: place)
    let new = try Vault(try Samples.key(2), home: Samples.home, indexKey: bytes)
    #expect(try new.blindIndex([1, 2], purpose: "a") == index)
    let own = try between.sealedIndexKey(ofKeyOf: nil, for: place)
    #expect(try between.open(own, for: place) != bytes)
    #expect(throws: SealingError.self) {
      try Vault(try Samples.key(2), home: Samples.home, indexKey: [1])
    }
  }
}
