import Foundation
import Testing

/// HEIC and AVIF, as phones write photos, through `image` and `preview`.
struct HEICTests {
  private struct Expected: Decodable {
    var code: String?
    var action: String?
    var format: String?
    var removed: String?
    var kept: String?
    var width: Int?
    var height: Int?
  }

  @Test func photosAreShownAndWhatIsLeftSaysWhatItKeeps() throws {
    let made = try MadeContents<Expected>("heifs.py")
    for (run, (file, expected)) in zip(try made.run("image"), made.expected) {
      #expect(run.code == expected.code, "\(file): \(run.message ?? "")")
      let metadata = run.metadata
      #expect(metadata["image.action"]?.asText == expected.action, "\(file)")
      #expect(metadata["image.removed"]?.asText == expected.removed, "\(file)")
      #expect(metadata["image.kept"]?.asText == expected.kept, "\(file)")
      guard let format = expected.format else { continue }
      #expect(metadata["image.format"]?.asText == format, "\(file)")
      #expect(run.mediaType == "image/jpeg", "\(file)")
      #expect(metadata["image.width"]?.asInteger == expected.width, "\(file)")
      #expect(metadata["image.height"]?.asInteger == expected.height, "\(file)")
    }
  }

  @Test func photosHaveThumbnails() throws {
    let made = try MadeContents<Expected>("heifs.py")
    for (run, (file, expected)) in zip(try made.run("preview"), made.expected) {
      let failure = run.metadata["preview.failed"]?.asText
      if file == "other-codec.heic" {
        #expect(failure == "not-supported")
      } else if expected.code == nil {
        #expect(failure == nil && run.derived?.map(\.name) == ["thumbnail"], "\(file)")
      } else {
        #expect(failure == expected.code, "\(file)")
      }
    }
  }

  @Test func whatIsStoredIsTurnedAndHasNoPlace() throws {
    let made = try MadeContents<Expected>("heifs.py")
    let (inbox, run) = try ingest(made, ["tiles.heic", "photo.avif"])
    for (file, size) in [("tiles.heic", (100, 120)), ("photo.avif", (64, 64))] {
      let record = try run.record(file)
      let url = try #require(record.url, "\(record)")
      let stored = try Data(contentsOf: URL(fileURLWithPath: "\(inbox.folder.path)/home/store/\(url)"))
      #expect(try #require(Samples.size(jpeg: stored)) == size, "\(file)")
      #expect(stored.range(of: Data("Exif".utf8)) == nil, "\(file)")
    }
  }

  @Test func pixelsThatAFileDoesNotHaveShowNothingOfAnotherImage() throws {
    let made = try MadeContents<Expected>("heifs.py")
    let runs = try made.run("image", [], ["loose-tiles.heic", "noise.png", "noise.png", "loose-tiles.heic"])
    #expect(runs[0].producedSha256 != nil && runs[0].producedSha256 == runs[3].producedSha256)
  }

  @Test func aPhotoThatDoesNotFitIntoTheMemoryFailsByItself() throws {
    let made = try MadeContents<Expected>("heifs.py")
    let (_, run) = try ingest(made, ["large.heic", "photo.heic"], memory: "64MB")
    #expect(try run.record("large.heic").code == "out-of-memory")
    #expect(try run.record("photo.heic").status == "completed")
  }

  private func ingest(_ made: MadeContents<Expected>, _ files: [String], memory: String = "256MB") throws -> (
    Inbox, Inbox.Run
  ) {
    let inbox = try Inbox()
    try inbox.folder.write(
      "pipeline.yaml",
      Pipelines.storing(
        """
        - use: image
          when: image/*
          memory: \(memory)
        """))
    for file in files {
      let data = try Data(contentsOf: URL(fileURLWithPath: made.folder.path + "/" + file))
      try inbox.folder.write("in/" + file, data)
    }
    return (inbox, try inbox.run())
  }
}
