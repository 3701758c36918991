import Configuration
import Pipeline
import Testing

struct StageSettingsTests {
  private func values(_ settings: [String], for stage: String) throws -> [OptionValue] {
    let description = try #require(try Samples.descriptions[stage]?.get())
    return try StageSettings.values(settings, for: description)
  }

  private func complaints(_ settings: [String], for stage: String) throws -> [String] {
    do {
      _ = try values(settings, for: stage)
      return []
    } catch let error as SettingsError {
      return error.messages
    }
  }

  @Test func defaultsAreFilledIn() throws {
    #expect(
      try values(["max-pages=7"], for: "pdf") == [
        OptionValue(name: "max-pages", text: "7", integer: 7),
        OptionValue(name: "encrypted", text: "reject"),
        OptionValue(name: "strict", text: "false"),
      ])
  }

  @Test func aListIsWrittenWithCommas() throws {
    #expect(
      try values(["allow=image/png, image/*", "deny=*/*"], for: "mime") == [
        OptionValue(name: "allow", text: "image/png"), OptionValue(name: "allow", text: "image/*"),
        OptionValue(name: "deny", text: "*/*"),
      ])
    #expect(try values(["words=one"], for: "knobs").contains(OptionValue(name: "words", text: "one")))
  }

  @Test func aMapIsWrittenWithColons() throws {
    #expect(
      try values(["rules=image/*:2MB,*/*:10MB"], for: "size").suffix(2) == [
        OptionValue(name: "rules", key: "image/*", text: "2MB", integer: 2 << 20),
        OptionValue(name: "rules", key: "*/*", text: "10MB", integer: 10 << 20),
      ])
  }

  @Test func aTemplateMayBeOneOrAMapAndHoldAnything() throws {
    #expect(
      try values(["path=a,b/{messageId}:c=d"], for: "store") == [
        OptionValue(name: "path", text: "a,b/{messageId}:c=d")
      ])
    #expect(
      try values(["path=image/*:i/{sha256},*/*:r/{sha256}"], for: "store") == [
        OptionValue(name: "path", key: "image/*", text: "i/{sha256}"),
        OptionValue(name: "path", key: "*/*", text: "r/{sha256}"),
      ])
  }

  @Test func nothingAndNullAreTextsForTheShellHasNoNull() throws {
    #expect(try values(["title=", "note=null"], for: "knobs").contains(OptionValue(name: "title", text: "")))
    #expect(
      try values(["title=", "note=null"], for: "knobs").contains(OptionValue(name: "note", text: "null")))
  }

  @Test func channelsAreCheckedWhereTheyAreKnown() throws {
    let notify = try #require(try Samples.descriptions["notify"]?.get())
    #expect(try StageSettings.values(["channels=sms"], for: notify).contains { $0.text == "sms" })
    #expect(throws: SettingsError.self) {
      try StageSettings.values(["channels=sms"], for: notify, channels: ["events"])
    }
  }

  @Test func whatIsWrongIsToldWithTheSettingAllAtOnce() throws {
    #expect(
      try complaints(["max=10", "min", "=3", "mxa=3MB", "timeout=3s", "rules=2MB", "max=11B"], for: "size")
        == [
          "--set min: there is no value; write '--set name=value'",
          "--set =3: there is no value; write '--set name=value'",
          "--set max=11B: 'max' is given twice; write several values with commas",
          "--set max=10: option 'max' of stage 'size' wants a size, and 10 is a bare number; "
            + "write 10MB for megabytes or 10B for bytes",
          "--set mxa=3MB: unknown option 'mxa' for stage 'size'; did you mean 'max'?",
          "--set timeout=3s: unknown option 'timeout' for stage 'size'; the options are: max, min, rules",
          "--set rules=2MB: option 'rules' of stage 'size' takes a map, not one value; "
            + "write a map from media types, such as 'rules=image/*:10MB'",
        ])
  }

  @Test func whatIsMissingIsTold() throws {
    #expect(try complaints([], for: "store") == ["stage 'store' needs its option 'path'; add '--set path=…'"])
    #expect(
      try complaints(["strict="], for: "pdf") == [
        "--set strict=: option 'strict' of stage 'pdf' has no value; write a value such as false, or leave it out"
      ])
  }
}
