/// Numbers of things, for people.
public enum Count {
  /// `1 file`, `2 files`.
  public static func text(_ number: some BinaryInteger, _ thing: String) -> String {
    "\(number) \(things(number, thing))"
  }

  /// For nouns with an irregular plural: `2 deliveries`.
  public static func text(_ number: some BinaryInteger, _ thing: String, _ things: String) -> String {
    "\(number) \(number == 1 ? thing : things)"
  }

  /// The noun alone: `file` for one, else `files`.
  public static func things(_ number: some BinaryInteger, _ thing: String) -> String {
    number == 1 ? thing : thing + "s"
  }

  /// With a comma for every three digits: `1,980`.
  public static func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0 && (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }
}
