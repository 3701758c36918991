import Configuration
import Glibc
import Pipeline
import Testing

struct GoodPipelineTests {
  @Test func theDefaultPipelineIsRead() throws {
    let pipeline = try PipelineDocument.parse(
      defaultPipeline(), file: "pipeline.yaml", environment: [:]
    ).resolve(Samples.descriptions)

    #expect(pipeline.stages.map(\.id) == ["mime", "size", "pdf", "store", "notify"])
    #expect(
      pipeline.stages[0].values.map(\.text) == [
        "application/pdf", "image/jpeg", "image/png", "image/gif", "image/webp",
      ])
    #expect(
      pipeline.stages[1].values == [
        OptionValue(name: "max", text: "10MB", integer: 10 << 20),
        OptionValue(name: "min", text: "1B", integer: 1),
        OptionValue(name: "rules", key: "image/*", text: "2MB", integer: 2 << 20),
      ])
    #expect(pipeline.stages[2].conditions.map(\.description) == ["application/pdf"])
    #expect(pipeline.stages[2].timeout == 30_000)
    #expect(pipeline.stages[2].memory == 512 << 20)
    #expect(
      pipeline.stages[3].values == [
        OptionValue(name: "path", text: "documents/{conversationId}/{attachmentId}.{extension}")
      ])
    #expect(pipeline.channels.map(\.name) == ["events"])
    #expect(pipeline.channels.first?.stage.id == "events")
    #expect(pipeline.channels.first?.stage.values == [OptionValue(name: "path", text: "events.jsonl")])
    #expect(pipeline.retry == RetryPolicy())
    #expect(pipeline.sandbox == .require)
    #expect(pipeline.workers == nil)
  }

  private func defaultPipeline() throws -> [UInt8] {
    let root = "\(#filePath)".split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    let file = try #require(fopen(root + "/pipeline.yaml", "r"))
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65536)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    return bytes
  }

  @Test func linksAreFetchedAsTheLaneSays() throws {
    let pipeline = try Samples.definition(
      """
      version: 1
      stages: [{ use: mime }]
      lanes:
        downloads:
          use: http
          connections: 3
          max-size: 5MB
          min-free: 2MB
          timeout: 7s
          credential: files
          retry: { attempts: 9 }
          options: { redirects: 1 }
      credentials:
        files: { header: "authorization: Bearer ${NAME}", hosts: [a.example, "*.b.example"] }
      """)
    let downloads = try #require(pipeline.downloads)
    #expect(downloads.stage.description.id == "http")
    #expect(downloads.stage.values == [OptionValue(name: "redirects", text: "1", integer: 1)])
    #expect((downloads.connections, downloads.retry.attempts) == (3, 9))
    #expect(
      (downloads.maxSize, downloads.stage.output) == (5 << 20, 5 << 20), "the kernel holds the worker to it")
    #expect((downloads.minFree, downloads.stage.timeout) == (2 << 20, 7000))
    #expect(downloads.credential == "files")
    #expect(
      pipeline.credentials == [
        "files": Credential(header: "authorization: Bearer first", hosts: ["a.example", "*.b.example"])
      ])
    #expect(try Samples.definition("version: 1\nstages: [{ use: mime }]\n").downloads == nil)
  }

  @Test func whatIsLeftOutHasItsDefault() throws {
    let pipeline = try Samples.definition("version: 1\nstages: [{ use: mime }]\n")
    let stage = try #require(pipeline.stages.first)
    #expect(stage.timeout == 60_000)
    #expect(stage.memory == 256 << 20)
    #expect(stage.output == 64 << 20)
    #expect(stage.isolation == .worker)
    #expect([stage.onTimeout, stage.onLimit, stage.onCrash] == [.retry, .reject, .retry])
    #expect(stage.conditions.isEmpty)
    #expect(stage.values.isEmpty)
  }

  @Test func everyKeyOfAStageCounts() throws {
    let pipeline = try Samples.definition(
      """
      version: 1
      stages:
        - use: mime
        - use: pdf
          id: second-look
          when: [application/pdf, "image/*"]
          timeout: 2m
          memory: 1GB
          output: 0B
          isolation: fresh
          on-timeout: hold
          on-limit: pass
          on-crash: reject
      """)
    let stage = try #require(pipeline.stages.last)
    #expect(stage.id == "second-look")
    #expect(stage.description.id == "pdf")
    #expect(stage.conditions.map(\.description) == ["application/pdf", "image/*"])
    #expect((stage.timeout, stage.memory, stage.output) == (120_000, 1 << 30, 0))
    #expect(stage.isolation == .fresh)
    #expect([stage.onTimeout, stage.onLimit, stage.onCrash] == [.hold, .pass, .reject])
  }

  @Test func everyKeyOfTheFileCounts() throws {
    let pipeline = try Samples.definition(
      """
      version: 1
      stages: [{ use: mime }]
      channels: { log: { use: jsonl, options: { path: log }, timeout: 3s, memory: 16MB } }
      retry: { attempts: 100, backoff: 0ms, max: 24h }
      sandbox: off
      workers: 256
      """)
    #expect(pipeline.retry.attempts == 100)
    #expect((pipeline.retry.backoff, pipeline.retry.max) == (0, 86_400_000))
    #expect(pipeline.sandbox == .off)
    #expect(pipeline.workers == 256)
    let channel = try #require(pipeline.channels.first)
    #expect((channel.stage.timeout, channel.stage.memory) == (3000, 16 << 20))
  }

  @Test func collectionsMayBeLeftEmpty() throws {
    let pipeline = try Samples.definition(
      "version: 1\nplugins:\nstages:\n- use: mime\n  options:\nchannels:\nretry:\n")
    #expect(pipeline.stages.count == 1)
  }

  @Test func valuesComeInTheOrderTheStageDeclaresThem() throws {
    let pipeline = try Samples.definition(
      "version: 1\nstages: [{ use: size, options: { rules: { '*/*': 2B, image/png: 3B }, max: 5B } }]\n")
    #expect(pipeline.stages.first?.values.map(\.name) == ["max", "min", "rules", "rules"])
    #expect(pipeline.stages.first?.values.map(\.key) == [nil, nil, "*/*", "image/png"])
  }

  @Test func everyKindOfOptionIsReadAndEveryDefaultFilledIn() throws {
    let pipeline = try Samples.definition(
      """
      version: 1
      stages:
        - use: knobs
          options: { ratio: 0.25, title: 12, words: ["true", no], deep: 9223372036854775807, quiet: true, both: "a/{type}" }
      """)
    #expect(
      pipeline.stages.first?.values == [
        OptionValue(name: "ratio", text: "0.25", number: 0.25),
        // A text that looks like a number stays as written.
        OptionValue(name: "title", text: "12"),
        OptionValue(name: "words", text: "true"), OptionValue(name: "words", text: "no"),
        OptionValue(name: "wait", text: "2s", integer: 2000),
        OptionValue(name: "deep", text: "9223372036854775807", integer: .max),
        OptionValue(name: "quiet", text: "true", integer: 1),
        OptionValue(name: "both", text: "a/{type}"),
        OptionValue(name: "types", text: "image/png"), OptionValue(name: "types", text: "image/gif"),
        OptionValue(name: "note", text: ""),
      ])
  }

  @Test func aTemplateMayBeAMapFromMediaTypes() throws {
    let pipeline = try Samples.definition(
      """
      version: 1
      stages:
        - use: store
          options:
            path:
              application/pdf: docs/{sha256}.pdf
              "*/*": rest/{sha256}
      """)
    #expect(
      pipeline.stages.first?.values == [
        OptionValue(name: "path", key: "application/pdf", text: "docs/{sha256}.pdf"),
        OptionValue(name: "path", key: "*/*", text: "rest/{sha256}"),
      ])
  }

  @Test func standardTagsSayWhatQuotesSay() throws {
    let pipeline = try Samples.definition(
      "version: !!int \"1\"\nstages: !!seq [!!map { use: pdf, options: { encrypted: !!str reject } }]\n")
    #expect(pipeline.stages.first?.values.contains(OptionValue(name: "encrypted", text: "reject")) == true)
    #expect(
      Samples.complaints("version: ! 1\nstages: [{ use: pdf }]\n") == [
        "1:10: 'version' wants a whole number, and \"1\" in quotes is text; write 1 without quotes"
      ])
  }

  @Test func aByteOrderMarkAndForeignLineEndsAreRead() {
    #expect(
      Samples.complaints([0xEF, 0xBB, 0xBF] + Array("version: 1\r\nstages:\r\n- use: mime\r\n".utf8)) == [])
    #expect(Samples.complaints("%YAML 1.1\n---\nversion: 1\nstages: [{ use: mime }]\n...\n") == [])
  }

  @Test func usesNamesEveryPluginOnceInOrder() throws {
    let text = """
      version: 1
      stages: [{ use: size, id: a }, { use: mime }, { use: size, id: b }]
      channels: { x: { use: jsonl }, y: { use: mime } }
      """
    let document = try PipelineDocument.parse(Array(text.utf8), file: "p.yaml", environment: [:])
    #expect(document.uses == ["size", "mime", "jsonl"])
  }

  @Test(arguments: [
    ("p.yaml", ["lib", "/opt/lib"]), ("/etc/sluice/p.yaml", ["/etc/sluice/lib", "/opt/lib"]),
    ("../p.yaml", ["../lib", "/opt/lib"]), ("/p.yaml", ["/lib", "/opt/lib"]),
  ])
  func pluginFoldersAreTakenFromTheFilesFolder(file: String, folders: [String]) throws {
    let text = "version: 1\nplugins: [lib, /opt/lib]\nstages: [{ use: mime }]\n"
    let document = try PipelineDocument.parse(Array(text.utf8), file: file, environment: [:])
    #expect(document.pluginFolders == folders)
  }

  @Test func furtherKnownPluginsAreSuggested() throws {
    let text = "version: 1\nstages: [{ use: thumnail }]\n"
    let document = try PipelineDocument.parse(Array(text.utf8), file: "p.yaml", environment: [:])
    let error = #expect(throws: ConfigurationError.self) {
      try document.resolve(Samples.descriptions, known: ["thumbnails"])
    }
    // Not 'thumbnail', which is closer but did not load.
    #expect(
      error?.description == "p.yaml:2:17: unknown stage 'thumnail'; did you mean 'thumbnails'?")
  }

  @Test func aPluginThatDoesNotLoadIsNotSuggestedForItself() throws {
    let text = "version: 1\nstages: [{ use: broken }]\n"
    let document = try PipelineDocument.parse(Array(text.utf8), file: "p.yaml", environment: [:])
    let error = #expect(throws: ConfigurationError.self) {
      try document.resolve(Samples.descriptions, known: ["broken", "mime"])
    }
    #expect(
      error?.description
        == "p.yaml:2:17: stage 'broken' cannot be used: its ABI is 2, and 1 is wanted; "
        + "build it again with this version's kit")
  }
}
