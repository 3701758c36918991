"""Texts of some languages in the encodings that programs have written them in.

Usage: texts.py FOLDER. Writes files whose names say what they are: LANGUAGE-ENCODING-LENGTH.txt, and the same as
LANGUAGE-ENCODING-LENGTH.utf8 for comparison.
"""

import sys

TEXTS = {
    "german": (
        "cp1252 iso8859-15 utf-8 cp850",
        "Die Rechnung für den März liegt bei. Bitte überweisen Sie den Betrag bis zum Fünfzehnten auf unser Konto. "
        "Die Prüfung der Anlage hat gezeigt, dass größere Störungen künftig früher gemeldet werden müssen. "
        "Mit freundlichen Grüßen aus Köln, Ihre Geschäftsführung. Für Rückfragen stehen wir jederzeit gern zur Verfügung.",
    ),
    "french": (
        "cp1252 iso8859-15 utf-8 mac-roman",
        "Le contrat a été signé hier après-midi à l'hôtel de ville. Nous espérons que les travaux seront terminés avant l'été. "
        "Les élèves préfèrent étudier près de la fenêtre, où la lumière est meilleure. Veuillez agréer, Madame, "
        "l'expression de nos sentiments distingués. Le garçon a mangé un gâteau à la crème brûlée.",
    ),
    "spanish": (
        "cp1252 utf-8",
        "Mañana por la mañana saldrá el tren hacia el corazón de la montaña. Los niños jugaban en el jardín cuando llegó el médico. "
        "La información está en la página número tres, según dijo el señor Muñoz. ¿Dónde está la estación? "
        "Aquí también hay un pequeño café que abrió el año pasado.",
    ),
    "portuguese": (
        "cp1252 utf-8",
        "A reunião começará às nove horas da manhã e não haverá intervalo. As crianças estão aprendendo a ler e a escrever português. "
        "O relatório de produção será enviado à direção amanhã. É necessário que você confirme a sua presença até quinta-feira. "
        "O avião atrasou por causa da tempestade.",
    ),
    "danish": (
        "cp1252 utf-8",
        "Vi mødes på færgen klokken otte i morgen tidlig. Børnene løb over broen, før regnen begyndte at falde. "
        "Rejsen går først til Ålborg og så videre mod øen. Hvis du får brug for hjælp, så spørg på kontoret. "
        "Der er brød, smør og æbler på bordet i køkkenet.",
    ),
    "swedish": (
        "cp1252 utf-8",
        "På måndag åker vi till stugan vid sjön för att måla väggarna. Barnen äter smörgåsar och dricker mjölk på gården. "
        "Räkningen för april månad är ännu inte betald. Det är viktigt att du lämnar in ansökan före fredag. "
        "Snön låg djup över fälten när tåget äntligen kom.",
    ),
    "polish": (
        "cp1250 iso8859-2 utf-8",
        "Zażółć gęślą jaźń to zdanie ze wszystkimi polskimi znakami. Proszę przesłać dokumenty najpóźniej do piątku. "
        "Wczoraj wieczorem spadł śnieg, więc dzieci poszły na sanki. Łódź leży w środkowej części kraju. "
        "Pociąg odjeżdża z peronu trzeciego o godzinie ósmej trzydzieści. Dziękuję bardzo za szybką odpowiedź.",
    ),
    "czech": (
        "cp1250 iso8859-2 utf-8",
        "Příliš žluťoučký kůň úpěl ďábelské ódy. Zítra ráno pojedeme vlakem do Plzně a večer se vrátíme zpět. "
        "Děti si hrály na zahradě, dokud nezačalo pršet. Účet za březen prosím zaplaťte do konce měsíce. "
        "Ředitel školy řekl, že výsledky zkoušek budou známy příští týden. Kočka spí pod stolem.",
    ),
    "hungarian": (
        "cp1250 iso8859-2 utf-8",
        "Árvíztűrő tükörfúrógép. A gyerekek az udvaron játszottak, amikor elkezdett esni az eső. Kérjük, hogy a számlát "
        "a hónap végéig fizesse ki. Holnap reggel nyolckor indul a vonat Győr felé. A könyvtár fölött őszi köd ült, "
        "és a hegyek között már hűvös szél fújt. Köszönjük a gyors választ.",
    ),
    "russian": (
        "cp1251 koi8-r iso8859-5 cp866 utf-8 mac-cyrillic",
        "Привет, это обычный текст на русском языке. Завтра утром мы поедем на вокзал, а вечером вернёмся домой. "
        "Просим вас оплатить счёт за март до пятнадцатого числа. Дети играли во дворе, пока не начался дождь. "
        "Директор школы сказал, что результаты экзаменов будут известны на следующей неделе.",
    ),
    "ukrainian": (
        "cp1251 koi8-u utf-8",
        "Завтра вранці ми їдемо до Києва, а ввечері повернемося додому. Просимо сплатити рахунок за березень до кінця місяця. "
        "Діти гралися на подвір'ї, поки не почався дощ. Її сестра навчається в університеті й цікавиться історією. "
        "Цей м'який хліб щойно з печі, їжте на здоров'я.",
    ),
    "bulgarian": (
        "cp1251 iso8859-5 utf-8",
        "Утре сутринта ще пътуваме с влака до Пловдив, а вечерта ще се върнем вкъщи. Моля, платете сметката за март до края на месеца. "
        "Децата играеха на двора, докато не започна да вали дъжд. Директорът на училището каза, че резултатите от изпитите "
        "ще бъдат известни следващата седмица.",
    ),
    "greek": (
        "cp1253 iso8859-7 utf-8",
        "Αύριο το πρωί θα πάμε με το τρένο στη Θεσσαλονίκη και το βράδυ θα γυρίσουμε σπίτι. Παρακαλούμε πληρώστε τον λογαριασμό "
        "του Μαρτίου μέχρι το τέλος του μήνα. Τα παιδιά έπαιζαν στην αυλή μέχρι που άρχισε να βρέχει. "
        "Η γάτα κοιμάται κάτω από το τραπέζι της κουζίνας.",
    ),
    "turkish": (
        "cp1254 iso8859-9 utf-8",
        "Yarın sabah trenle İzmir'e gideceğiz ve akşam eve döneceğiz. Lütfen mart ayı faturasını ayın sonuna kadar ödeyiniz. "
        "Çocuklar yağmur başlayıncaya kadar bahçede oynadılar. Okul müdürü sınav sonuçlarının gelecek hafta açıklanacağını söyledi. "
        "Kedi mutfaktaki masanın altında uyuyor, şimdi çok güzel bir gün.",
    ),
    "hebrew": (
        "cp1255 utf-8",
        "מחר בבוקר ניסע ברכבת לחיפה ובערב נחזור הביתה. נא לשלם את החשבון של חודש מרץ עד סוף החודש. "
        "הילדים שיחקו בחצר עד שהתחיל לרדת גשם. מנהל בית הספר אמר שתוצאות הבחינות יפורסמו בשבוע הבא. "
        "החתול ישן מתחת לשולחן במטבח.",
    ),
    "arabic": (
        "cp1256 iso8859-6 utf-8",
        "غدا صباحا سنسافر بالقطار إلى المدينة وفي المساء سنعود إلى البيت. يرجى دفع فاتورة شهر مارس قبل نهاية الشهر. "
        "كان الأطفال يلعبون في الفناء حتى بدأ المطر ينزل. قال مدير المدرسة إن نتائج الامتحانات ستعلن في الأسبوع القادم. "
        "القطة تنام تحت الطاولة في المطبخ.",
    ),
    "thai": (
        "cp874 utf-8",
        "พรุ่งนี้เช้าเราจะนั่งรถไฟไปเชียงใหม่ และตอนเย็นเราจะกลับบ้าน กรุณาชำระค่าใช้จ่ายประจำเดือนมีนาคมก่อนสิ้นเดือน "
        "เด็ก ๆ เล่นอยู่ในสนามจนกระทั่งฝนเริ่มตก ผู้อำนวยการโรงเรียนบอกว่าผลการสอบจะประกาศในสัปดาห์หน้า แมวนอนอยู่ใต้โต๊ะในครัว",
    ),
    "japanese": (
        "cp932 euc_jp iso2022_jp utf-8",
        "明日の朝は電車で京都へ行き、夜には家に帰ります。三月分の請求書は月末までにお支払いください。"
        "子供たちは雨が降り始めるまで庭で遊んでいました。校長先生は、試験の結果は来週発表されると言いました。"
        "猫は台所のテーブルの下で寝ています。お忙しいところ恐れ入りますが、よろしくお願いいたします。",
    ),
    "chinese": (
        "gb18030 gbk utf-8 hz",
        "明天早上我们坐火车去北京，晚上再回家。请在月底之前支付三月份的账单。孩子们在院子里玩，直到开始下雨。"
        "校长说考试的结果将在下个星期公布。小猫睡在厨房的桌子下面。这个城市的图书馆每天早上九点开门，晚上八点关门。"
        "如果您有任何问题，请随时与我们联系。",
    ),
    "taiwanese": (
        "big5 utf-8",
        "明天早上我們坐火車去台北，晚上再回家。請在月底之前支付三月份的帳單。孩子們在院子裡玩，直到開始下雨。"
        "校長說考試的結果將在下個星期公布。小貓睡在廚房的桌子下面。這個城市的圖書館每天早上九點開門，晚上八點關門。"
        "如果您有任何問題，請隨時與我們聯絡。",
    ),
    "korean": (
        "cp949 iso2022_kr utf-8",
        "내일 아침에 우리는 기차를 타고 부산에 갔다가 저녁에 집으로 돌아올 것입니다. 삼월 청구서는 월말까지 납부해 주시기 바랍니다. "
        "아이들은 비가 내리기 시작할 때까지 마당에서 놀았습니다. 교장 선생님은 시험 결과가 다음 주에 발표될 것이라고 말씀하셨습니다. "
        "고양이는 부엌 식탁 밑에서 자고 있습니다.",
    ),
    "vietnamese": (
        "cp1258 utf-8",
        "Sáng mai chúng tôi sẽ đi tàu hỏa đến Huế và buổi tối sẽ trở về nhà. Xin vui lòng thanh toán hóa đơn tháng ba trước cuối tháng. "
        "Bọn trẻ chơi ngoài sân cho đến khi trời bắt đầu mưa. Hiệu trưởng nói rằng kết quả thi sẽ được công bố vào tuần tới.",
    ),
    "lithuanian": (
        "cp1257 utf-8",
        "Rytoj ryte važiuosime traukiniu į Klaipėdą, o vakare grįšime namo. Prašome apmokėti kovo mėnesio sąskaitą iki mėnesio pabaigos. "
        "Vaikai žaidė kieme, kol pradėjo lyti. Mokyklos direktorius sakė, kad egzaminų rezultatai bus paskelbti kitą savaitę. "
        "Katė miega po virtuvės stalu.",
    ),
    "english": (
        "ascii utf-8 utf-16-le utf-16-be",
        "Tomorrow morning we take the train to the coast, and in the evening we come home. Please pay the invoice for March "
        "before the end of the month. The children played in the yard until it began to rain. The cat sleeps below the table.",
    ),
}

LENGTHS = {"short": 60, "line": 130, "whole": 1000}


def decomposed(text: str) -> str:
    """Vietnamese in Windows-1258 has its tones as characters of their own."""
    import unicodedata

    tones = "\u0300\u0301\u0303\u0309\u0323"
    out = ""
    for letter in text:
        parts = unicodedata.normalize("NFD", letter)
        tone = "".join(mark for mark in parts if mark in tones)
        out += unicodedata.normalize("NFC", "".join(mark for mark in parts if mark not in tones)) + tone
    return out


def main(folder: str) -> None:
    for language, (encodings, text) in TEXTS.items():
        for encoding in encodings.split():
            for name, length in LENGTHS.items():
                part = text[:length]
                if encoding == "cp1258":
                    part = decomposed(part)
                path = f"{folder}/{language}-{encoding}-{name}"
                open(path + ".txt", "wb").write(part.encode(encoding))
                open(path + ".utf8", "wb").write(part.encode())


main(sys.argv[1])
