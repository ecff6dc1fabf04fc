"""Open answers by class: what the default scorer takes for the gold, and what it does not.

Each pair is a gold and a reply. The classes are those of docs/scoring.md; tests/score/replies holds further
labelled replies.
"""

# ruff: noqa: E501  (a row of examples is one line, however long, in any script)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.score.default import matches
from eyechart.score.open_answers import find_kind
from eyechart.types import Reply, Sample

RIGHT = {
    "units and suffixes": [
        ("10 am", "10 a.m."), ("10 am", "10:00 AM"), ("10 am", "10"), ("10 am", "10 in the morning"), ("12A", "12 A"), ('12A', "It's room 12A."),
        ("100 mg", "0.1 g"), ("5 m", "5 metres long"), ("5 m", "5m"), ("5%", "5 percent"), ("5%", "0.05"), ("70 kg", "154 lbs"), ("10 lb", "4.54 kg"),
        ("5 kg", "5 kilos"), ("5 kg", "5000 g"), ("5 kg", "5000 grams"), ("20°C", "20 ℃"), ("20°C", "68 °F"), ("20 °C", "20C"),
        ("98.6°F", "98.6 degrees Fahrenheit"), ("98.6°F", "37°C"), ("5M", "5,000,000"), ("5 billion", "5B"), ("5 billion", "5 bn"),
        ("$5 billion", "$5bn"), ("$5 billion", "5 billion"), ("1.5k", "1500"), ("2 million", "2M"), ("3 hours", "3 hrs"), ("3 hours", "3h"),
        ("90 minutes", "1 hour 30 minutes"), ("90 minutes", "1.5 hours"), ("90 minutes", "an hour and a half"), ("2 weeks", "14 days"),
        ("1 year", "12 months"), ("5 ft", "60 inches"), ('5\'10"', '5 feet 10 inches'), ('6 feet', "6'"), ('6 ft 2 in', '6\'2"'),
        ("60 mph", "60 miles/hour"), ("100 km/h", "100 kilometers per hour"), ("100 km/h", "100 kmh"), ("100 km/h", "62.1 mph"),
        ("16 GB", "16GB of RAM"), ("1 TB", "1000 GB"), ("€20", "20 euros"), ("€20", "20 EUR"), ("£20", "20 pounds"), ("20 lbs", "20 pounds"),
        ("¥100", "100 yuan"), ("¥100", "100元"), ("50 cents", "$0.50"), ("₹500", "500 rupees"), ("₹500", "Rs. 500"), ("3 m²", "3 square metres"),
        ("3 m²", "3 sq m"), ("2 acres", "2 acre"), ("500 ml", "0.5 liters"), ("2 L", "2 litres"), ("2000 kcal", "2000 calories"),
        ("100 W", "100 watts"), ("5 V", "5V"), ("5 V", "5 volts"), ("12", "12 apples"), ("12", "12 kg"), ("12 apples", "12"),
        ("12 apples", "There are twelve apples."), ("3 dogs", "three dogs"), ("45°", "45 degrees"), ("90 degrees", "90°"), ("5 千克", "5公斤"),
        ("5公斤", "5 kg"), ("3小时", "3 hours"), ("25%", "百分之25"), ("100米", "100 m"), ("10 km", "10公里"), ("8 oz", "8 ounces"), ("1,000 kg", "1 tonne"),
        ("2.5 km", "2500 m"), ("30 fps", "30"), ("7.5 cm", "75 mm"), ("7.5 cm", "The length is 7.5 centimeters."), ("4:30", "4.30 pm"),
        ("2:15 pm", "14:15"), ("2:15 pm", "quarter past two"), ("12:00", "noon"), ("12 pm", "noon"), ("0:00", "midnight"), ("9 o'clock", '9:00'),
        ("9:05", "five past nine"), ("$1,234.56", "1234.56 dollars"), ("-5°C", "minus 5 degrees"), ("-5°C", "-5 C"), ("3.5 GHz", "3500 MHz"),
        ("5-star", "5 stars"),
    ],
    "denied and bounded numbers": [
        ("at least 8", "at least 8"), ("at least 8", "8 or more"), (">8", "more than 8"), ("more than 8", "over 8"), ("≥ 8", "at least 8"),
        ("8", "exactly 8"), ("8", "only 8"), ("8", "Not 7 but 8."), ("8", "8, not 7"), ('8', "It isn't 7, it's 8."), ("8", "No, there are 8."),
        ("8", "There is no doubt: 8."), ("8", "approximately 8"), ("9", "8? No, 9."), ("8", "As shown in Figure 2, there are 8."),
        ("8", "Based on Table 3, the answer is 8."), ("8", "8 people, I think"), ("8", "Number 8"), ("8", "#8"), ("8", "The number is 8."),
        ("8", "eight (8)"),
    ],
    "numbers in words and other numerals": [
        ("50000", "五万"), ("1000", "一千"), ("0.75", "three quarters"), ("3/4", "three-quarters"), ("2.5", "two and a half"), ("0.25", "a quarter"),
        ("0.25", "one quarter"), ("1/3", "a third"), ("2/3", "two thirds"), ("2/3", "two-thirds"), ("25%", "百分之二十五"), ("0.5", "二分之一"), ("2.5", "两个半"),
        ("35000", "3万5千"), ("35000", "三万五千"), ("105", "one hundred and five"), ("105", "a hundred and five"),
        ("1,250", "one thousand two hundred fifty"), ("1250", "twelve hundred and fifty"), ("2000000", "two million"),
        ("2500000", "two and a half million"), ("1500000", "one and a half million"), ("3000000000", "three billion"), ("1e12", "one trillion"),
        ("3.14", "three point one four"), ("0.5", "zero point five"), ("0.5", "point five"), ("21", "twenty one"), ("100", "a hundred"),
        ("1000", "a thousand"), ("12", "a dozen"), ("6", "half a dozen"), ("24", "two dozen"), ("500", "five hundred"),
        ("2019", "two thousand nineteen"), ("2019", "twenty nineteen"), ("1998", "nineteen ninety-eight"), ("0", "zero"), ("0", "none"),
        ("0", "There are none."), ("0", "There are no dogs."), ("0", "没有"), ("0", "零"), ("1", "a single one"), ("1", "There is only one."),
        ("1", "just one"), ("15", "十五"), ("15", "十五个"), ("200", "二百"), ("200", "两百"), ("10000", "一万"), ("120000000", "1.2亿"), ("120000000", "一亿二千万"),
        ("3.5", "三点五"), ("-3", "负三"), ("30%", "30 percent"), ("0.1", "十分之一"), ("3/5", "五分之三"), ("60%", "百分之六十"), ("3", "图中有三只狗。"), ("3", "一共三个"),
        ("2", "两只猫"), ("2", "有两个人"), ("7", "sept"), ("7", "sieben"), ("7", "siete"), ("7", "семь"), ("7", "七"), ("7", "일곱"), ("7", "sete"),
        ("7", "sette"), ("7", "yedi"), ("7", "tujuh"), ("7", "bảy"), ("7", "सात"), ("7", "سبعة"), ("7", "Es sind sieben."),
        ("7", "Il y a sept chats."), ("7", "Hay siete gatos."), ("7", "На картинке семь котов."), ("7", "七匹です"), ("7", "고양이가 일곱 마리 있습니다."),
        ("7", "Ci sono sette gatti."), ("7", "Há sete gatos."), ("7", "Có bảy con mèo."), ("7", "Ada tujuh kucing."), ("7", "Yedi kedi var."),
        ("IV", "IV"), ("IV", "It is IV."), ("1/2", "half"), ("50%", "half"), ("1.5", "one and a half"), ("1.5", "1½"), ("1.5", "1 1/2"),
        ("2e6", "2 × 10^6"), ("1234567", "1.234.567"), ("1234.5", "1 234,5"), ("3", "٣"), ("3", "३"), ("3", "３"),
    ],
    "more than the gold, and denials": [
        ("Obama", "President Obama"), ("Obama", "It is Obama."), ("北京", "北京市"), ("北京", "首都是北京"), ("北京", "北京是中国的首都。"), ("狗", "一只狗"), ("狗", "这是一只狗。"),
        ("狗", "图中是一只棕色的狗。"), ("東京", "これは東京です。"), ("서울", "서울입니다."), ("서울", "이 도시는 서울입니다."), ("dog", "It is a dog sitting on grass."),
        ("dog", "A brown dog."), ("dog", "a small white dog"), ("dog", "The animal is a dog."), ("dog", "I see a dog."),
        ("dog", "There is a dog in the picture."), ("dog", "This is a picture of a dog."), ("dog", "The image shows a dog lying on a couch."),
        ("dog", "A dog is sitting on the grass."), ("dog", "Dog (golden retriever)"), ('dog', "It's a dog, specifically a beagle."), ("dog", "dog."),
        ("dog", "The dog."), ('dog', "I think it's a dog"), ("dog", "It appears to be a dog."), ("dog", "It looks like a dog."),
        ("dog", "The answer is a dog."), ("dog", "A dog. It has brown fur."), ("dog", "Dog\n\nThe animal has floppy ears."),
        ("dog", "The pet is clearly a dog because it barks."), ('dog', "It's a dog, not a cat."), ("dog", "Not a cat but a dog."),
        ("dog", "Answer: dog"), ("dog", "**Answer:** Dog"), ("dog", "The animal shown in this image is a dog."), ("dog", "It is definitely a dog!"),
        ("Paris", "The capital is Paris, France."), ("Paris", "Paris, France"), ("Paris", "The Eiffel Tower is located in Paris."),
        ("Paris", "It was taken in Paris."), ("Paris", "This photo was taken in Paris, the capital of France."), ("Paris", "The city is Paris"),
        ("Paris", "Paris is the capital of France."), ("Paris", "I believe this is Paris."), ("Paris", "the city of Paris"), ("ball", "a red ball"),
        ("bus", "a yellow bus"), ("Toyota", "a Toyota car"), ("Nike", "The brand is Nike."), ("Nike", "The Nike logo"), ("Coca-Cola", "Coca Cola"),
        ("Coca-Cola", "The drink is Coca-Cola."), ("McDonald's", 'McDonalds'), ("McDonald's", "McDonald's"), ("red", "It is red in color."),
        ("red", "The color is red"), ("red", "a red car"), ("red", "red color"), ("red", "bright red"), ("blue", "The sky is blue."),
        ("black and white", "black and white"), ("black and white", "white and black"), ("black and white", "It is black and white."),
        ("left", "to the left"), ("left", "on the left side"), ("left", "The car is on the left."), ('kitchen', "It's in the kitchen."),
        ("kitchen", "a kitchen"), ("table", "on the table"), ("table", "The cat is under the table."), ("table", "The book is lying on the table."),
        ("umbrella", "He is holding an umbrella."), ("umbrella", "The woman is holding a red umbrella."), ("tennis", "They are playing tennis."),
        ("tennis", "He plays tennis."), ("pizza", "a slice of pizza"), ("pizza", "She is eating pizza."), ("coffee", "a cup of coffee"),
        ('STOP', "The sign reads 'STOP'."), ("STOP", "stop"), ("Germany", "Germany has the highest GDP."),
        ("Germany", "The country with the highest GDP is Germany, with 4.2 trillion."), ("Germany", "According to the chart, Germany."),
        ("Germany", "Based on the graph, the answer is Germany."), ("2019", "In 2019."), ('Monday', "It's Monday."),
        ("sitting", "The man is sitting."), ('running', "He's running."), ("happy", "She looks happy."), ("wood", "It is made of wood."),
        ("wood", "made out of wood"), ("Everest", "Mount Everest"), ("William Shakespeare", "The author is William Shakespeare."),
        ("Leonardo da Vinci", "It was painted by Leonardo da Vinci."), ("chien", "Le chien"), ('chien', "L'animal est un chien."),
        ("chien", "Je vois un chien noir."), ("Hund", "Ein Hund."), ("Hund", "Das Tier ist ein Hund."),
        ("Hund", "Auf dem Bild ist ein Hund zu sehen."), ("perro", "Es un perro."), ("perro", "El animal es un perro negro."),
        ("cachorro", "É um cachorro."), ("cane", "È un cane."), ("собака", "На картинке собака."), ("犬", "犬です。"), ("犬", "これは犬です。"),
        ("犬", "写真には犬が写っています。"), ("개", "이것은 개입니다."), ("كلب", "هذا كلب."), ("kucing", "Ini kucing."), ("kucing", "Hewan ini adalah kucing."),
        ("con mèo", "Đây là con mèo."), ("kedi", "Bu bir kedi."), ("बिल्ली", "यह बिल्ली है।"),
    ],
    "yes and no": [
        ("true", "The statement is true."), ("true", "This statement is correct."), ('true', "It's true."), ("false", "That is not true."),
        ("false", "The claim is incorrect."), ("no", "The answer is not yes."), ('no', "I don't see a car."),
        ("no", "I do not see any car in the image."), ("yes", "There is a car."), ("yes", "There are two cars in the image."),
        ("yes", "I can see a car."), ("no", "There are no cars."), ('no', "There isn't a car."), ("yes", "Oui"), ("no", "Non"), ("yes", "Ja"),
        ("no", "Nein"), ("yes", "Sí"), ("yes", "Si."), ("yes", "はい"), ("no", "いいえ"), ("yes", "はい、あります。"), ("yes", "да"), ("no", "нет"),
        ("no", "Нет, там нет машины."), ("yes", "네"), ("yes", "네, 있습니다."), ("no", "아니요"), ("yes", "نعم"), ("no", "لا"), ("yes", "हाँ"),
        ("no", "नहीं"), ("yes", "Có"), ("no", "Không"), ("yes", "Ya"), ("no", "Tidak"), ("yes", "Evet"), ("no", "Hayır"), ("yes", "Sim"),
        ("no", "Não"), ("yes", "Sì"), ('no', "No, non c'è."), ("yes", "Sim, há um carro."), ('no', "Il n'y a pas de voiture."),
        ("yes", "Il y a une voiture."), ("no", "Es gibt kein Auto."), ("yes", "Es gibt ein Auto."), ("no", "图中没有车"), ("yes", "图中有一辆车。"),
        ("no", "不，没有"), ("yes", "是的，图中有狗。"), ("是", "yes"), ("yes", "对"), ("yes", "有"), ("yes", "Absolutely."), ("yes", "Of course."),
        ("no", "Absolutely not."), ("no", "Of course not!"), ("no", "Not really."), ("yes", "Definitely"), ("yes", "Correct."),
        ('yes', "That's right."), ("yes", "I think so."), ('no', "I don't think so."), ("yes", "It is."), ('no', "It isn't."), ("no", "It does not."),
        ("yes", "True"), ("no", "False"), ("yes", "Yes, but only partially."), ("yes", "The answer would be yes."),
        ("yes", "Based on the image, yes, the man is wearing a hat."), ("no", "Based on the image, no."),
        ("yes", "The man is wearing a hat, so the answer is yes."), ("no", "The man is not wearing a hat."),
        ("no", "The image does not contain a dog."), ("yes", "The image contains a dog."), ("no", "No dog is visible."), ("yes", "No doubt, yes."),
        ("yes", "Yes. There is no car on the left, but there is one on the right."), ("no", "Incorrect."), ("false", "Wrong."),
        ('false', "That's wrong."), ("true", "Right."), ("false", "Falso"), ("true", "Vrai"), ("true", "Verdadero."), ("true", "Richtig"),
        ("false", "Falsch"), ("true", "La afirmación es verdadera."), ("false", "Die Aussage ist falsch."), ("true", "该说法是正确的。"),
        ("false", "这个说法是错误的。"), ("false", "这个说法不正确"), ("yes", "Yep!"), ("yes", "Yeah"), ("no", "Neither."), ("no", "Nope"), ("yes", "yes!"),
    ],
    "what is forgiven": [
        ("dog", "dogs"), ("dogs", "dog"), ("boxes", "box"), ("city", "cities"), ("women", "woman"), ("child", "children"), ("house", "houses"),
        ("bus", "buses"), ("shoe", "shoes"), ("knife", "knives"), ("cookie", "cookies"), ("tree", "trees"), ("horse", "horses"), ("leaf", "leaves"),
        ("potato", "potatoes"), ("watch", "watches"), ("ice-cream", "ice cream"), ("ice cream", "icecream"), ("T-shirt", "t-shirts"),
        ("e-mail", "email"), ("well known", "well-known"), ("café", "cafe"), ("Zürich", "Zurich"), ("Málaga", "Malaga"), ("München", "Munchen"),
        ("jalapeño", "jalapeno"), ("color", "colour"), ("center", "centre"), ("gray", "grey"), ("organize", "organise"), ("traveler", "traveller"),
        ("theater", "theatre"), ("aluminum", "aluminium"), ("tire", "tyre"), ("neighbor", "neighbour"), ("red, blue", "blue and red"),
        ("red and blue", "blue, red"), ("apple, banana, cherry", "cherry, apple, banana"), ("apple, banana", "- banana\n- apple"),
        ("apple, banana", "1. Apple\n2. Banana"), ("apple, banana", "The fruits are apple and banana."), ("(3, 4)", "(3,4)"),
        ("2021-03-05", "5 March 2021"), ("5/3/2021", "March 5, 2021"), ("May 2020", "2020-05"), ("March 5", "5 March"), ("March 5th", "March 5"),
        ("4 July 1776", "July 4th, 1776"), ("4 July 1776", "It was signed on July 4, 1776."), ("12/25/2020", "25/12/2020"),
        ("2021年3月5日", "March 5, 2021"), ("5 mai 2021", "5 May 2021"), ("-5", "(5)"), ("5", "(5)"), ("-1,234", "(1,234)"), ("U.S.A.", "USA"),
        ("US", "U.S."), ("AT&T", "AT&T"), ("rock and roll", "rock & roll"), ("Dr. Smith", "Dr Smith"), ("St. Louis", "St Louis"),
        ("New York City", "new york city"), ("O'Brien", 'O’Brien'), ("3-5", "3 to 5"), ("3-5", "between 3 and 5"), ("2010-2015", "from 2010 to 2015"),
        ("first", "1st"), ("2nd", "second"), ("www.example.com", "www.example.com"), ("x^2", "x^2"), ("John Smith", "john smith"),
        ("accommodation", "accomodation"), ("restaurant", "resturant"), ("The Beatles", "Beatles"), ("two", "2"), ("2", "two"), ("seven", "7"),
        ("Apollo 11", "Apollo 11"), ('Boeing 747', "It's a Boeing 747."), ("16:9", "16:9"), ("16:9", "16 : 9"), ("1:2", "1:2"),
        ("Yes, it is red", "Yes, it is red"), ("hello world", "Hello, World!"),
    ],
    "styles of replies": [
        ("12", "La réponse est 12."), ("12", "La réponse est douze."), ("12", "Die Antwort ist 12."), ("12", "La respuesta es 12."),
        ("12", "A resposta é 12."), ("12", "Ответ: 12"), ("12", "答えは12です。"), ("12", "정답은 12입니다."), ("12", "الإجابة هي 12"), ("12", "उत्तर 12 है"),
        ("12", "Đáp án là 12."), ("12", "Jawabannya adalah 12."), ("12", "Cevap 12."), ("12", "La risposta è 12."),
        ("Paris", "La réponse est Paris."), ("Paris", "Die Antwort ist Paris."), ("Paris", "La respuesta es Paris."),
        ("Berlin", "Die Hauptstadt ist Berlin."), ("Madrid", "La capital de España es Madrid."), ("Roma", "La capitale è Roma."),
        ("Москва", "Столица — Москва."), ("Москва", "Ответ: Москва"), ("上海", "答案：上海"), ("上海", "我认为是上海。"), ("上海", "位于上海"), ("上海", "图片拍摄于上海。"),
        ("大阪", "正解は大阪です。"), ("부산", "정답: 부산"), ("부산", "부산이에요"), ("42", "\\[ \\boxed{42} \\]"), ("42", "Therefore, $x = 42$."),
        ("3.5", "$$\\boxed{3.5\\text{ cm}}$$"), ("3.5 cm", "\\boxed{3.5\\text{ cm}}"), ("45°", "$45^\\circ$"), ("45°", "\\boxed{45^{\\circ}}"),
        ("50%", "$50\\%$"), ("1/2", "\\dfrac{1}{2}"), ("0.5", "\\frac{1}{2}"), ("2\\sqrt{3}", "2\\sqrt{3}"), ("(2, 3)", "(2, 3)"), ("x=2", "x = 2"),
        ("$5.99", "The price is **$5.99**."), ("5.99", "$5.99"), ('7', "Let's count: 1, 2, 3, 4, 5, 6, 7. So there are 7 birds."),
        ("7", "There are 3 red and 4 blue, giving a total of 7."), ("7", "First row: 3. Second row: 4. Total: 7"), ("7", "3 + 4 = 7"),
        ("7", "**7**\n\nI counted three on the left and four on the right."), ("7", "I counted the birds carefully and found 7 of them."),
        ("7", "7 birds (3 in the sky, 4 on the ground)"), ("7", "There are 7 birds: 3 in the sky and 4 on the ground."),
        ("7", "The number of birds is 7"), ("7", "Total number of birds = 7"), ('7', '{"answer": "7 birds"}'), ("7", "<answer>7 birds</answer>"),
        ("7", "Step 1: look. Step 2: count. The answer is 7."), ("7", "1. Look at the sky.\n2. Count the birds.\n\nAnswer: 7"),
        ("7", "At first glance 6, but actually 7."), ("8", "8 out of 10"), ("8 out of 10", "8 out of 10"), ("80%", "80 percent of people"),
        ("1995", "It was built in 1995."), ("1995", "1995 AD"), ("1995", "In the year 1995, the bridge was opened."), ("1990s", "the 1990s"),
        ('1990s', "1990's"), ("3", "3 (three)"), ("3", "three (3)"), ("3", "3 – three"),
        ("3", "The answer is: 3\n\nExplanation: there are 2 cats on the sofa and 1 on the floor."),
        ("3", "3\n\nThere are 2 cats on the sofa and 1 on the floor."), ("3", "The final answer is $\\boxed{3}$. I hope it is correct."),
        ("3", "Final Answer: 3"), ("3", "ANSWER: 3."), ("3", "Answer = 3"), ("3", "It has 3 wheels."), ("3", "3 wheels"), ("3", "tres ruedas"),
        ("12:30", "It is half past twelve."), ("12:30", "12:30 PM"), ("12:30", "The time is 12:30"), ('6:00', "six o'clock"), ("6:00", "6"),
        ("6 pm", "18h00"), ("6 pm", "18:00 Uhr"), ("10:10", "ten past ten"), ("8:20", "twenty past eight"), ("3:45", "a quarter to four"),
        ("15:30", "下午三点半"), ("15:30", "3:30 in the afternoon"), ("January 1, 2000", "1/1/2000"), ("January 1, 2000", "01.01.2000"),
        ("January 1, 2000", "The date is January 1st, 2000."), ("January 2000", "Jan. 2000"), ("2000", "January 2000"), ("March", "in March"),
        ("March", "Mar"), ("Tuesday", "Tues"), ("Tuesday", "Tuesday, March 3"), ("1 May 1990", "1. Mai 1990"),
    ],
    "sentences": [
        ("Eiffel Tower", "It is the Eiffel Tower in Paris."), ("Eiffel Tower", "This is the famous Eiffel Tower."),
        ("golden retriever", "The dog is a golden retriever."), ("red", "The stop sign is red."), ('Stop', 'The text on the sign is "STOP".'),
        ('Samsung', "It's a Samsung."), ("Samsung", "The TV brand is Samsung"), ("soccer", "The boys are playing soccer in a field."),
        ("skateboarding", "He is skateboarding."), ("skateboard", "The man is riding a skateboard."),
        ("riding a horse", "The man is riding a horse."), ("horse", "The man is riding a horse."), ("brushing teeth", "He is brushing his teeth."),
        ("talking on phone", "talking on the phone"), ("in the park", "It is in the park"), ("park", "They are in a park."),
        ("beach", "The photo was taken at the beach."), ("beach", "at the beach"), ("banana", "He is holding a banana in his hand."),
        ("cat", "The black animal on the sofa is a cat."), ("cat", "cat, I think"), ("cat", "Probably a cat"), ("cat", "Most likely a cat."),
        ("cat", "It might be a cat."), ('cat', "I'd say cat."), ("cat", "My answer is cat."), ("cat", "Looks like a cat to me"),
        ("cat", "The correct answer is: cat"), ("cat", "This appears to be a domestic cat."), ("cat", "a cat (Felis catus)"),
        ("cat", "A cat is shown."), ("cat", "A cat can be seen on the sofa."), ("cat", "Cats."), ("cat", "THE CAT"),
        ("Joe Biden", "US President Joe Biden"), ("Joe Biden", "The man is Joe Biden, the president."), ("Titanic", "The movie is Titanic."),
        ('Titanic', '"Titanic" (1997)'), ("Harry Potter", "Harry Potter"), ("Harry Potter", "The book is called Harry Potter."),
        ("China", "It is China."), ("China", "in China"), ("China", "China had the highest value at 45%."), ("China", "The country is China (45%)."),
        ("China", "China, with 45%."), ("China", "China: 45%"), ("China", "China - 45%"), ("China", "China, not India"),
        ("China", "China rather than India"), ("China", "China is higher than India."), ("China", "China, followed by India"),
        ("carbon dioxide", "Carbon dioxide (CO2)"), ("H2O", "H2O"), ("pH", "pH"), ("A", "A"), ("A", "The letter is A."), ("Vitamin A", "vitamin a"),
        ('Group 1', "It's Group 1."), ("Line A", "line A"), ("C++", "C++"), ("Type B", "The answer is type B."),
        ("on the table", "It is on the table."), ("under the bed", "The cat is under the bed."), ("because it is raining", "Because it is raining."),
        ("to stay dry", "to stay dry"),
    ],
}  # fmt: skip
WRONG = {
    "units and suffixes": [
        ("10 am", "10 pm"), ("10 am", "22:00"), ("10 am", "10 in the evening"), ("12A", "12B"), ("12A", "12 B"), ("12A", "12"), ("100 mg", "100 g"),
        ("100 mg", "100 mcg"), ("5 m", "5 mm"), ("5 m", "5 minutes"), ("5m", "5 km"), ("$5", "5%"), ("5%", "$5"), ("5%", "50%"),
        ("70 kg", "70 pounds"), ("5 kg", "5 g"), ("20 °C", "20 °F"), ("5M", "5B"), ("5M", "5K"), ("$5 billion", "$5 million"), ("2", "2M"),
        ("2", "2 million"), ("2 million", "2"), ("3 hours", "3 days"), ("2 weeks", "2 months"), ("6 feet", "6 inches"), ("6 feet", "6 metres"),
        ("60 mph", "60 kph"), ("16 GB", "16 TB"), ("16 GB", "16 Gb/s"), ("€20", "£20"), ("£20", "$20"), ("¥100", "$100"), ("$5", "5 cents"),
        ("3 m²", "3 m"), ("500 ml", "500 l"), ("100 W", "100 kW"), ("12 apples", "12 oranges"), ("3 dogs", "3 cats"), ("90 degrees", "90%"),
        ("5公斤", "5斤"), ("100米", "100公里"), ("4:30", "4:03"), ("2:15 pm", "2:15 am"), ("2:15 pm", "quarter to two"), ("12 am", "noon"), ("-5°C", "5°C"),
    ],
    "denied and bounded numbers": [
        ("8", "not 8"), ('8', "It's not 8."), ('8', "There aren't 8."), ("8", "at most 8"), ("8", "over 8"), ("8", "under 8"), ("8", "8 or more"),
        ("8", "8+"), ("8", ">8"), ("8", "≥ 8"), ("8", "< 8"), ("8", "less than eight"), ("8", "no more than 8"), ("8", "I doubt there are 8."),
        ('8', "I don't think it's 8."), ('8', "It can't be 8."), ("8", "almost 8"), ("3", "x ≠ 3"), ("3", "不是3"), ("3", "不是三"), ("3", "超过3个"),
        ("3", "至少3个"), ("3", "不到3"), ("3", "3个以上"), ("3", "少于3"), ("3", "没有3个"), ("2", "Figure 2"), ("2", "Table 2"), ("2", "see page 2"),
        ("2", "Option 2"), ("2", "step 2"), ("2", "图2"), ("2", "表2"), ("2", "第2页"), ("2", "选项2"), ("2", "Question 2"), ("8", "mindestens 8"),
        ("8", "mehr als 8"), ("8", "nicht 8"), ("8", "Es sind nicht 8."), ("8", "plus de 8"), ("8", "au moins 8"), ('8', "Il n'y en a pas 8."),
        ("8", "más de 8"), ("8", "No hay 8."), ("8", "menos de 8"), ("8", "mais de 8"), ("8", "Não são 8."), ("8", "più di 8"), ("8", "almeno 8"),
        ("8", "Non sono 8."), ("8", "больше 8"), ("8", "не 8"), ("8", "не менее 8"), ("8", "8以上"), ("8", "8ではありません"), ("8", "8個ではない"), ("8", "8個以上"),
        ("8", "8개 이상"), ("8", "8개가 아닙니다"), ("8", "ليس 8"), ("8", "أكثر من 8"), ("8", "8 से अधिक"), ("8", "8 नहीं"), ("8", "hơn 8"),
        ("8", "không phải 8"), ("8", "lebih dari 8"), ("8", "bukan 8"), ("8", "8 değil"), ('8', "8'den fazla"), ("8", "en az 8"),
        ("at least 8", "at most 8"), ("at least 8", "8"), ("8", "8? No, 9."), ('8', "The answer isn't 8."), ("8", "The answer is not 8."),
        ("8", "8 is wrong."), ("8", "somewhere between 7 and 9"), ("8", "7 to 9"), ("8", "If there were 8"), ("8", "Is it 8?"),
        ("1998", "before 1998"), ("1998", "since 1998"), ("1998", "after 1998"), ("8", "18"), ("8", "8.5"), ("8", "80"), ("8", "8/10"), ("8", "8:00"),
        ("8", "-8"), ("8", "1-8"), ("8", "8th"), ("8", "8 dozen"), ("8", "nearly 8"), ("8", "close to 8"),
    ],
    "numbers in words and other numerals": [
        ("3", "三十"), ("5", "五百"), ("1", "一百"), ("2", "twenty-two"), ("2", "two hundred"), ("3", "three quarters"), ("2", "two and a half"),
        ("5", "5万"), ("1", "1亿"),
    ],
    "more than the gold, and denials": [
        ("dog", "hot dog"), ("dog", "a hot dog"), ("dog", "a prairie dog"), ("dog", "dog house"), ("dog", "dog food"), ("dog", "dogfish"),
        ("dog", "a corn dog"), ("York", "New York"), ("York", "It is New York."), ("Obama", "Michelle Obama"),
        ("Obama", "The person is Michelle Obama."), ("北京", "北京大学"), ("北京", "这是北京大学"), ("北京", "北京烤鸭"), ("狗", "热狗"), ("狗", "图中没有狗"), ("狗", "狗或猫"),
        ("狗", "这是狗吗？"), ("東京", "東京大学"), ("서울", "서울대학교"), ("서울", "서울이 아닙니다."), ("dog", "a dog and a cat"), ("dog", "dog or cat"),
        ("dog", "dogs and cats"), ("dog", "dog, cat"), ("dog", "a cat next to a dog"), ("dog", "a man with a dog"),
        ("dog", "It is a cat next to a dog."), ("dog", "The cat is chasing a dog... no wait, a mouse."), ('dog', "I don't see a dog."),
        ('dog', "There isn't a dog."), ('dog', "It's not a dog, it's a wolf."), ("dog", "It looks like a dog but it is a wolf."),
        ('dog', "At first I thought it was a dog, but it's a wolf."), ("dog", "Is it a dog?"), ('dog', "I'm not sure if it's a dog."),
        ("dog", "If it were smaller it would be a dog."), ("dog", "Someone said it is a dog."), ("dog", "anything but a dog"),
        ("dog", "It resembles a dog, but is a fox."), ("dog", "a wolf rather than a dog"), ("dog", "a wolf, not a dog"),
        ("dog", "Wolf. It is often mistaken for a dog."), ('dog', "The dog's owner"), ("dog", "cat"), ("dog", "god"),
        ('dog', "I can't tell whether it is a dog."), ("dog", "a stuffed dog toy"), ("Paris", "Paris, Texas or London"), ("Paris", "Paris Hilton"),
        ("Paris", "Paris and London"), ("Paris", "Parisian"), ("Paris", "Paris, London"), ("Paris", "Paris Saint-Germain"),
        ('Paris', "It's Lyon, not Paris."), ("Paris", "Port Paris"), ("Virginia", "West Virginia"), ("Korea", "North Korea"),
        ("Washington", "Washington Post"), ("Washington", "George Washington University"), ("Jordan", "Michael Jordan"), ("Apple", "Apple Pie"),
        ("apple", "apple pie"), ("apple", "pineapple"), ("apple", "an apple tree"), ("ball", "basketball"), ("ball", "ball gown"),
        ("bus", "a bus stop"), ("bus", "school bus driver"), ("Windows", "Windows 10"), ("iPhone", "iPhone 12"), ("Toyota", "Toyota Corolla"),
        ("red", "red and blue"), ("red", "reddish"), ("red", "infrared"), ('red', "The car isn't red."), ('blue', "It's not blue, it's green."),
        ("black", "black and white"), ("left", "left and right"), ("left", "not left"), ("kitchen", "kitchen knife"), ("tennis", "table tennis"),
        ("tennis", "tennis racket"), ("Germany", "Germany is second, France is first."), ("Germany", "East Germany"), ("Monday", "Cyber Monday"),
        ("William Shakespeare", "William"), ("Van Gogh", "Van Halen"), ("chien", "Je ne vois pas de chien."), ("chien", "un chat, pas un chien"),
        ("chien", "un chien ou un chat"), ("Hund", "Ich sehe keinen Hund."), ("Hund", "Hund oder Katze"),
        ("Hund", "Es ist kein Hund, sondern ein Wolf."), ("perro", "No veo ningún perro."), ("perro", "Parece un perro, pero es un lobo."),
        ("cachorro", "Não é um cachorro."), ("cane", "Non è un cane, è un lupo."), ("собака", "Это не собака, а волк."),
        ("собака", "Здесь нет собака"), ("犬", "犬ではなく猫です。"), ("犬", "犬ではない"), ("개", "개가 아니라 고양이입니다."), ("كلب", "هذا ليس كلب."),
        ("kucing", "Bukan kucing."), ("con mèo", "Đây không phải là con mèo."), ("kedi", "Kedi değil, köpek."), ("बिल्ली", "यह बिल्ली नहीं है।"),
    ],
    "yes and no": [
        ("true", "The statement is not correct."), ("yes", "The answer is not yes."), ('yes', "There isn't a car."), ('yes', "I'm not sure."),
        ('no', "I'm not sure."), ("no", "I cannot tell."), ("yes", "Maybe"), ("yes", "Yes or no?"), ("no", "There is no way to tell."),
        ("no", "I have no idea."), ("no", "No doubt, yes."), ("yes", "Yesterday"),
    ],
    "what is forgiven": [
        ("apple, banana", "apple, banana, cherry"), ("apple, banana", "apple"), ("apple, banana", "apple or banana"), ("(3, 4)", "(4, 3)"),
        ("March 5", "March 6"), ("March 5", "May 5"), ("03/04/2021", "04/03/2021"), ("3-5", "3-6"), ("3-5", "5-3"), ("John Smith", "Jon Smith"),
        ("cat", "car"), ("Niger", "Nigeria"), ("Austria", "Australia"), ("Male", "Female"), ("desert", "dessert"), ("Apollo 11", "Apollo 13"),
        ("747", "Boeing 737"),
    ],
    "styles of replies": [
        ("3.5 cm", "\\boxed{3.5\\text{ mm}}"), ("3", "3 + 4 = 7"), ("4", "3 + 4 = 7"), ("3", "There are 3 red and 4 blue, giving a total of 7."),
        ("6", "At first glance 6, but actually 7."), ("7", "I see between 6 and 8 birds."), ('7', "It's 6 or 7."), ("7", "6-7"), ("7", "70"),
        ("1995", "1994"), ("1995", "the 1990s"), ("1995", "1995-1996"), ("6 pm", "6:30 pm"), ("3:45", "a quarter past four"),
        ("January 1, 2000", "January 2000"), ("January 1, 2000", "2000"),
    ],
    "sentences": [
        ("cat", "catfish"), ("cat", "cat food"), ("cat", "a cat burglar"), ("cat", "category"), ("cat", "neither a cat nor a dog"),
        ('cat', "I'm unable to identify the cat."), ('cat', "It's hard to say whether this is a cat"), ("cat", "no cat"),
        ('cat', "There's no cat here."), ("cat", "The cat is absent."), ('cat', "cat? I don't know"), ("cat", "definitely not a cat"),
        ("cat", "never a cat"), ("cat", "Could it be a cat? No, a fox."), ("cat", "everything except a cat"), ("cat", "It used to be a cat"),
        ("Joe Biden", "Hunter Biden"), ("Biden", "Jill Biden"), ("Potter", "Harry Potter"), ("Harry", "Harry Potter"),
        ("Harry Potter", "Harry Potter and the Goblet of Fire"), ("China", "South China Sea"), ("China", "Indochina"), ("China", "China and India"),
        ("China", "China, India"), ("China", "China or India"), ("China", "China/India"), ("China", "India, not China"),
        ("China", "India rather than China"), ("China", "India (China is second)"), ("China", "India is higher than China."),
        ("China", "All countries except China"), ("China", "Compared to China, India is higher."), ("China", "India, followed by China"),
        ("H2O", "H2O2"), ("A", "It is a dog"), ("A", "B"), ("Vitamin A", "Vitamin"), ("Vitamin A", "Vitamin C"), ("Group 1", "Group 2"),
        ("Line A", "Line B"), ("C", "C++"), ("C", "C#"), ("under the bed", "on the bed"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_the_gold_in_other_words(name: str) -> None:
    assert [pair for pair in RIGHT[name] if not matches(pair[1], pair[0])] == []


@pytest.mark.parametrize("name", WRONG)
def test_another_answer(name: str) -> None:
    assert [pair for pair in WRONG[name] if matches(pair[1], pair[0])] == []


@pytest.mark.parametrize(
    ("gold", "kind"),
    [("3 pm", "time"), ("5 March 2021", "date"), ("3-5", "range"), ("12 kg", "number"), ("12A", "text"), ("007", "text"),
     ("555-1234", "text"), ("13800138000", "text"), ("3rd", "text"), ("10.0.0.1", "text"), ("1,000,000,000", "number")],
)  # fmt: skip
def test_the_kind_of_a_gold(gold: str, kind: str) -> None:
    assert find_kind(gold) == kind


def test_golds_of_several_kinds_are_all_tried() -> None:
    golds = ["noon", "12:00", "a dozen", "Paris"]
    assert all(matches(reply, golds) for reply in ("12 pm", "12", "It is Paris.", "twelve"))
    assert not matches("13", golds)


@pytest.mark.parametrize(
    ("gold", "reply", "outcome"),
    [("dog", "dog", "correct"), ("dog", "It is a dog.", "correct"), ("dog", "dogs", "wrong"), ("café", "cafe", "wrong"),
     ("red, blue", "blue, red", "wrong"), ("5 m", "5 m", "correct"), ("5 m", "5", "wrong"), ("5 m", "500 cm", "wrong"),
     ("yes", "Yes, it is.", "correct"), ("dog", "cat", "wrong")],
)  # fmt: skip
def test_the_strict_form_forgives_nothing(gold: str, reply: str, outcome: str) -> None:
    sample = Sample(id="1", question="?", golds=(gold,))
    assert registry.scorers.get("default-strict")(Reply(text=reply), sample).outcome == outcome


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_reply_to_any_gold_is_decided(reply: str, gold: str) -> None:
    assert matches(reply, gold) in (True, False)


@given(
    st.sampled_from(["dog", "Paris", "12", "5 kg", "3 pm", "yes"]),
    st.sampled_from(["not {}", "It is not {}.", "不是{}", "Es ist nicht {}."]),
)
def test_a_denied_gold_is_never_right(gold: str, denial: str) -> None:
    assert not matches(denial.format(gold), gold)
