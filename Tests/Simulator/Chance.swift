import Platform

/// What happens by chance in a simulation: a function of the seed and of what it is about, and not of what was asked before.
/// So a change of the scheduler that asks once more or less leaves the rest as it was.
struct Chance {
  let seed: UInt64

  private func number(_ subject: [String]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325 ^ seed  // FNV-1a
    for text in subject {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
      hash = (hash ^ 0xFF) &* 0x100_0000_01B3
    }
    var mix = SplitMix(state: hash)
    return mix.next()
  }

  func integer(_ range: ClosedRange<Int>, _ subject: String...) -> Int {
    range.lowerBound + Int(number(subject) % UInt64(range.count))
  }

  /// True once in so many.
  func oneIn(_ count: Int, _ subject: String...) -> Bool { number(subject) % UInt64(count) == 0 }

  func choice<Element>(_ elements: [Element], _ subject: String...) -> Element {
    elements[Int(number(subject) % UInt64(elements.count))]
  }

  /// Sixty-four hexadecimal digits.
  static func digest(of text: String) -> String {
    (0..<4).map { part in
      let digits = String(Chance(seed: UInt64(part)).number([text]), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
