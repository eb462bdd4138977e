"""How people say that somebody can leave, in the languages that newsletters come in.

Words are compared in lower case and without accents, as parts of what is said: German puts them into longer ones.
"""

import re
import unicodedata
from functools import lru_cache

# Said by the link itself.
_LEAVE = """
unsubscri | (un)subscri | (un-)subscri | opt-out | optout | opt out | opting out | remove me from | sign me off
cancel subscription | cancel my subscription | cancel your subscription | cancel the subscription
cancel this subscription | cancel newsletter | cancel my newsletter | cancel your newsletter | cancel the newsletter
cancel this newsletter
abmeld | abzumeld | abbestell | abzubestell | austragen | auszutragen | deabonnier
désabonn | désinscri | annuler l'abonnement | annuler mon abonnement
de baja | desuscri | cancelar suscripci | cancelar la suscripci | cancelar tu suscripci | cancelar mi suscripci
cancelar su suscripci | cancela tu suscripci | cancela la suscripci | cancele su suscripci
anular suscripci | anular la suscripci | de baixa
descadastr | desinscrev | cancelar inscri | cancelar a inscri | cancelar subscri | cancelar a subscri
cancelar assinatura | cancelar a assinatura | anular a subscri | anular subscri
disiscri | annulla iscrizione | annulla l'iscrizione | annullare l'iscrizione | cancella iscrizione
cancella l'iscrizione | cancellare l'iscrizione | cancellati | cancellarti | cancellarsi | annulla sottoscrizione
afmeld | meld je af | meld u af | meld je hier af | uitschrijv | schrijf je uit | schrijf u uit | uit te schrijven
af te melden | frameld | avmeld | meld deg av | melde deg av | meld meg av | avslutt abonnement
avregistrer | avprenumerer | avanmäl | avsluta prenumeration | avsluta din prenumeration
dezabon | wypis | rezygn | anuluj subskrypcj | odsubskryb | wyrejestruj
peruuta tilaus | peru tilaus | peruuta uutiskir | peru uutiskir | tilauksen peru | lopeta tilaus | poistu postituslist
odhlás | odhláš | zrušit odběr | ukončit odběr | odjav | leiratkoz | feliratkozás törlés
abonelikten çık | abonelikten ayrıl | üyelikten çık | listeden çık | aboneliği iptal | aboneliğini iptal
aboneliğimi iptal | aboneliğinizi iptal | berhenti berlangganan | hủy đăng ký
отпис | отпиш | отказаться от рассыл | отменить подписк | відпис | відпиш | скасувати підписк
відмовитися від розсил | апісацца | διαγραφ | απεγγραφ | κατάργηση εγγραφ | κατάργηση συνδρομ
配信停止 | 配信を停止 | 配信解除 | 配信を解除 | 配信中止 | 購読解除 | 購読を解除 | 購読停止 | 購読をやめ
登録解除 | 受信拒否 | 退订 | 退訂 | 取消订阅 | 取消訂閱 | 取消訂閲 | 수신거부 | 수신 거부 | 구독취소
구독 취소 | 구독해지 | 구독 해지
إلغاء الاشتراك | להסרה | הסרה מרשימ
"""
# Said around the link, which itself says no more than "here".
_GOING = """
no longer wish | no longer want | no longer receive | not wish to receive | not want to receive | rather not receive
not to receive | don't want to receive | don’t want to receive | don't wish to receive | stop receiving | stop getting
stop these emails | stop future emails | leave this list | leave the list | leave this mailing list | remove yourself
to be removed click | to be removed, click | to be removed please | to be removed, please | to be removed from this
wish to be removed | want to be removed | like to be removed | prefer to be removed | request to be removed
be removed from this list | be removed from this mailing | be removed from this email | be removed from this newsletter
be removed from our list | be removed from our mailing | be removed from our email | be removed from our e-mail
be removed from our newsletter | be removed from our database | be removed from the list | be removed from the mailing
be removed from future | be removed from all | be removed from my | be removed from mailing
remove your email | remove your address | turn off these
nicht mehr erhalten | nicht mehr bekommen | nicht mehr empfangen | nicht länger erhalten | nicht länger empfangen
keine weiteren e-mails | keine weiteren newsletter | keine e-mails mehr | keine mails mehr | keinen newsletter mehr
keine newsletter mehr | keine nachrichten mehr | newsletter beenden | abo beenden | abonnement beenden
plus recevoir | plus nos e-mails | dejar de recibir | no desea recibir | no deseas recibir | no quiere recibir
no quieres recibir | no desea seguir | deixar de receber | não deseja receber | não deseja mais receber
não quer receber | não quiser receber | não quer mais receber | sair da lista | remover da lista
più ricevere | ricevere più | non desidera ricevere | non vuoi ricevere
niet langer ontvangen | niet meer ontvangen | niet langer wil | niet meer wil | geen e-mails meer
nu mai dor | nu mai vre | nu mai primi | nie chcesz otrzymywać | nie chcesz więcej | nie chce otrzymywać
inte längre vill | inte längre få | inte vill ha fler | slippa få | ikke længere ønske | ikke længere modtage
ikke længere vil | ikke lenger ønske | ikke lenger motta | ikke lenger vil | halua enää
nepřejete | nechcete dostávat | nechcete již | již nechcete | nem szeretne több | nem kíván több | nem szeretnél több
almak istemiyor | almamak | не хотите получать | не хотите больше | не желаете получать | не хочу получать
не хочете отримувати | не бажаєте отримувати | δεν επιθυμείτε | δεν θέλετε
希望されない | 希望しない | 不要な方 | 不想再收到 | 不希望收到 | 不再接收 | 원치 않 | 원하지 않
"""
# The place where everything can be chosen, leaving among it; it is the second best.
_CHOOSE = """
unsubscribe preferences | email preferences | e-mail preferences | mail preferences | manage preferences
update preferences | your preferences | communication preferences | subscription preferences | notification preferences
contact preferences | newsletter preferences | mailing preferences | preference center | preference centre
change preferences | email settings | e-mail settings | notification settings | subscription settings
manage subscription | manage your subscription | manage my subscription | manage notifications | manage emails
manage your email | newsletter verwalten | abo verwalten | abonnement verwalten | abonnements verwalten
e-mail-einstellungen | newsletter-einstellungen | newslettereinstellungen | benachrichtigungseinstellungen
benachrichtigungen verwalten | einstellungen ändern | präferenzen
gérer mes préférences | gérer vos préférences | vos préférences | mes préférences | gérer mes abonnements
gérer votre abonnement | gérer mon abonnement | préférences de communication | préférences e-mail
preferencias de correo | preferencias de email | tus preferencias | sus preferencias | mis preferencias
gestionar preferencias | administrar preferencias | gestionar suscripci | administrar suscripci
gerenciar preferências | gerir preferências | suas preferências | minhas preferências | gerir subscri
gerenciar inscri | preferenze e-mail | preferenze email | tue preferenze | gestisci preferenze | gestisci le preferenze
gestisci iscrizione | gestisci l'iscrizione | e-mailvoorkeuren | je voorkeuren | uw voorkeuren | voorkeuren aanpassen
voorkeuren wijzigen | voorkeuren beheren | abonnement beheren | preferințele | gestionează abon
zarządzaj preferencjami | zarządzaj subskrypcj | preferencje | ustawienia powiadomień
hantera prenumeration | hantera dina | e-postinställningar | mailindstillinger | e-mailindstillinger
administrer abonnement | administrer dine | e-postinnstillinger | hallitse tilau | sähköpostiasetu | ilmoitusasetu
nastavení e-mail | nastavení odběr | spravovat odběr | feliratkozás kezelés | feliratkozások kezelés
értesítési beállítás | e-posta tercih | tercihlerini yönet | tercihleri yönet | bildirim ayarları
управление подпиской | управлять подпиской | управление рассыл | настройки рассыл | настройки уведомлений
настроить рассыл | керувати підпис | керування підпис | налаштування сповіщень | налаштування розсил
προτιμήσεις | διαχείριση συνδρομ | 配信設定 | メール設定 | 登録内容の変更 | 邮件设置 | 偏好设置
管理订阅 | 管理訂閱 | 電子報設定 | 수신 설정 | 수신설정 | 구독 관리 | 알림 설정
"""
# What a link says that has nothing to say: whole words, and, where words are not apart, parts.
_HERE = """
here click link clicking this hier klicken klick diesen ici cliquez lien aquí aqui haz clic enlace qui clicca link
clique klik deze aici tutaj tu kliknij här klicka her tässä tästä täältä klikkaa napsauta zde klikněte itt ide
kattintson buraya buradan tıklayın tıklayınız здесь сюда тут ссылке отсюда тут натисніть тукa εδώ
"""
_HERE_PARTS = "こちら | ここ | クリック | 点击 | 點擊 | 此处 | 此處 | 这里 | 這裡 | 여기 | 클릭"
_BELOW = "below following unten folgenden ci-dessous suivant siguiente seguente următor următorul onderstaande poniżej"
# Words that a sentence may have beside these and still do no more than point: "Please follow this link".
_POINTING = """
please simply just you can may could on at in to the that following below above go visit follow use open see via by or
and then address url page web button press tap do so now it no problem your browser copy paste into
bitte einfach sie du können kannst auf den dem folgenden unten unter um dazu dann der die das seite adresse nutzen
besuchen gehen gehe zu kein
merci de veuillez cliquer sur le la ce cette suivant suivez ci-dessous pour cela vous pouvez il suffit page adresse
por favor haga hacer pulse pulsa en el este siguiente para ello siga sigue visite puede puedes
neste no isso acesse visite siga
cliccare sul su seguente questo per fai fare basta segui visita usa puoi
apăsați apasă faceți fă clic dați pe linkul acest următorul accesați vă rugăm puteți
klikken dan op de volgende ga naar u kunt onderstaande gebruik je
w ten link proszę poniżej przejdź klicka länken denna klikk linket dette på na odkaz
нажмите перейдите по пройдите кликните на эту ссылку пожалуйста
"""
# Calls to do something else: what shares a sentence with one of these is not offered as a way out.
_OTHER_CALLS = """
follow us | follow me | find us on | like us on | join us on | connect with us | in your browser | in browser
in the browser | in a browser | view online | read online | read more | read the | read our | learn more | find out more
shop now | buy now | order now | book now | visit our shop | visit our store | visit our blog | visit us at
download our | download the | get the app | privacy | terms of | forward to | forward this | share this | refer a friend
contact us | come back | subscribe again | resubscribe | re-subscribe
unsubscribe rate | unsubscription rate | why people | why readers | why subscribers | why so many
folgen sie uns | folge uns | folgt uns | im browser | online ansehen | online lesen | weiterlesen
mehr erfahren | jetzt einkaufen | jetzt kaufen | jetzt bestellen | zum shop | zur website | datenschutz | weiterempfehl
suivez-nous | suivez nous | votre navigateur | voir en ligne | version en ligne | lire la suite | en savoir plus
confidentialité
síguenos | síganos | en el navegador | ver en línea | leer más | privacidad
seguici | nel browser | leggi tutto | scopri di più | siga-nos | siga nos | no navegador | veja online | leia mais
privacidade
urmărește-ne | urmăriți-ne | în browser | citește mai | confidențialit
volg ons | in je browser | in uw browser | bekijk online | lees meer | obserwuj nas | śledź nas | w przeglądarce
czytaj więcej | prywatności | в браузере | подписывайтесь | читать далее
"""
# A way out that stands elsewhere in this mail, or in others.
_ELSEWHERE = """
link in this | link in our | link in the | at the bottom | at the foot | at the end of | in the footer
in every | in each | in any of | of every | of each
am ende | in jeder | in jedem | en bas de | al pie | al final | in fondo | la sfârșitul | onderaan | na dole | no final
"""
# A statement that leaving is possible, which announces no address.
_ANY_TIME = """
any time | anytime | whenever | jederzeit | à tout moment | en cualquier momento | in qualsiasi momento | oricând
op elk moment | te allen tijde | a qualquer momento | w każdej chwili | w dowolnym momencie
när som helst | når som helst | kdykoli | bármikor | в любой момент | в любое время
"""
# Leaving by an answer: the address beside it is for something else.
_BY_REPLY = """
reply | answer this | send stop | text stop | antwort | répond | respond | rispond | răspund | beantwoord | odpowied
"""
# How a mail program introduces the mail that it quotes.
_WROTE = """
wrote | schrieb | a écrit | escribió | ha scritto | a scris | schreef | escreveu | napisał | skrev | kirjoitti | napsal
írta | yazdı | написал | писал | 写道 | original message | forwarded message | ursprüngliche nachricht
weitergeleitete nachricht | message d'origine | message transféré | mensaje original | mensaje reenviado
messaggio originale | messaggio inoltrato | mesaj original | mesaj redirecționat | oorspronkelijk bericht
doorgestuurd bericht | mensagem original | mensagem encaminhada | oryginalna wiadomość | wiadomość przekazana
"""
# A list of alternatives goes on: what follows is about the next link.
_OR = "or and oder und ou et o y e sau și of en lub i eller och og nebo vagy veya или и"
# Profiles of the sender: people are led there to follow, never to leave.
_SOCIAL = """
facebook.com fb.com fb.me instagram.com twitter.com x.com linkedin.com youtube.com youtu.be tiktok.com
pinterest.com pin.it threads.net threads.com mastodon.social bsky.app t.me telegram.me wa.me whatsapp.com
vk.com xing.com reddit.com discord.gg discord.com snapchat.com twitch.tv tumblr.com vimeo.com
flickr.com open.spotify.com apps.apple.com play.google.com
"""
# In the addresses themselves.
_LEAVE_URL = """
unsub | optout | opt-out | opt_out | abmeld | abbestell | austragen | desabon | desinscr | desuscri | darse-de-baja
darsedebaja | darbaja | disiscri | cancellati | descadastr | cancelar-inscri | cancelar-suscri | afmeld | uitschrijv
dezabon | wypis | rezygn | avregistr | avprenum | avmeld | frameld | odhlas | odjav | leiratkoz | peruuta-tilaus
"""
_CHOOSE_URL = """
emailpreference | email-preference | email_preference | email/preference | mailpreference | preferencecent
preference-cent | preference_cent | subscriptionpreference | subscription-preference | subscription_preference
managepreference | manage-preference | manage_preference | manage/preference | preferences/manage
managesubscription | manage-subscription | manage_subscription | subscriptions/manage | subscription/manage
emailsetting | email-setting | email_setting | notification-setting | notification_setting | settings/notifications
settings/email | communication-preference | newsletter/verwalten
"""

# Accents, and what is put into words to be seen by nobody.
_INVISIBLE = re.compile("[\u0300-\u036f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# Letters: so many are put in order at a time; what has no more is looked at once, of the last that were.
AT_ONCE = 250
SHORT, REMEMBERED = 80, 1024


def normal(text: str) -> str:
    """The text as words are compared: lower case, no accents, one space."""
    text = text.lower() if text.isascii() else _plain(text)
    return " ".join(text.split())


def _plain(text: str) -> str:
    text = text.casefold()
    # Accents are put in order, which takes the longer the more of them follow each other.
    parts = [unicodedata.normalize("NFKD", text[at : at + AT_ONCE]) for at in range(0, len(text), AT_ONCE)]
    return _INVISIBLE.sub("", "".join(parts)).replace("ı", "i")


class Words:
    """Phrases, one of which may be in a text. Those of one word may be a part of a longer one; others start a word."""

    def __init__(self, phrases: str) -> None:
        found = {normal(phrase): None for phrase in phrases.replace("\n", "|").split("|") if phrase.strip()}
        self._parts = tuple(phrase for phrase in found if " " not in phrase)
        # Most texts have no letters but those of English.
        self._ascii_parts = tuple(phrase for phrase in self._parts if phrase.isascii())
        self._by_start: dict[str, list[str]] = {}
        for phrase in found:
            if " " in phrase:
                self._by_start.setdefault(phrase.split()[0], []).append(phrase)
        self._starts = frozenset(self._by_start)
        # All say "Unsubscribe".
        self._within_short = lru_cache(REMEMBERED)(self._within)

    def within(self, text: str) -> tuple[str, ...]:
        """Which of them are in the text, which is `normal`."""
        return self._within_short(text) if len(text) <= SHORT else self._within(text)

    def _within(self, text: str) -> tuple[str, ...]:
        parts = self._ascii_parts if text.isascii() else self._parts
        # From its end: there it goes twice as fast.
        found = [part for part in parts if text.rfind(part) >= 0]
        if self._starts:
            for start in self._starts.intersection(_word_set(text)):
                found += [phrase for phrase in self._by_start[start] if phrase in text]
        return tuple(found)

    def said(self, text: str) -> bool:
        """Whether one of them is in the text, which is `normal`."""
        return bool(self.within(text))


_AROUND = " .,:;!?()[]«»<>→›…*\"'|/-"


def bare_words(text: str) -> list[str]:
    """The words of the text, without what stands around them."""
    return [word.strip(_AROUND) for word in text.split()]


# One text is searched for several lists of words in a row.
@lru_cache(4)
def _word_set(text: str) -> frozenset[str]:
    return frozenset(bare_words(text))


LEAVE = Words(_LEAVE)
GOING = Words(_GOING)
CHOOSE = Words(_CHOOSE)
LEAVE_URL = Words(_LEAVE_URL)
CHOOSE_URL = Words(_CHOOSE_URL)
# What they say, without the signs that hexadecimal numbers have.
_NO_HEX = dict.fromkeys(map(ord, "0123456789abcdef"))
_THIN_URL = Words(f"{_LEAVE_URL} | {_CHOOSE_URL}".translate(_NO_HEX))
HERE = frozenset(normal(_HERE).split())
HERE_PARTS = Words(_HERE_PARTS)
POINTING = HERE | frozenset(normal(_POINTING).split())
OTHER_CALLS = Words(_OTHER_CALLS)
ELSEWHERE = Words(_ELSEWHERE)
ANY_TIME = Words(_ANY_TIME)
BY_REPLY = Words(_BY_REPLY)
WROTE = Words(_WROTE)
OR = frozenset(normal(_OR).split())
SOCIAL = frozenset(_SOCIAL.split())
BELOW = frozenset(normal(_BELOW).split())
CLICKS = frozenset(("click", "clicking", "klick", "clic", "klik", "haz", "this"))
# "Unsubscribe with one click" does not point at anything.
POINTING_AT = (HERE | BELOW) - CLICKS
# A link that says more says what it is for.
HERE_MAX = 60


def leaving(text: str) -> bool:
    """Whether the text, which is `normal`, speaks of leaving in any way."""
    return LEAVE.said(text) or GOING.said(text)


def pointers(text: str) -> list[str]:
    """What is in the text, which is `normal`, by which a link may only point."""
    here = HERE.intersection(_word_set(text))
    return [*here, *HERE_PARTS.within(text), *(start for start in ("http", "www.") if start in text)]


def points(label: str) -> bool:
    """Whether the words of a link, which are `normal`, only point at it: "click here", or its address once more."""
    if len(label) > HERE_MAX:
        return label.startswith(("http://", "https://", "www.")) and " " not in label
    if label.startswith(("http://", "https://", "www.")):
        return True
    return not HERE.isdisjoint(bare_words(label)) or HERE_PARTS.said(label)


def has_pointer(text: str) -> bool:
    """Whether the text, which is `normal`, has a word that points at a link: "here", "click", "below"."""
    return not (HERE | BELOW).isdisjoint(bare_words(text)) or HERE_PARTS.said(text)


def points_at_link(text: str) -> bool:
    """Whether the text, which is `normal`, has a word for a link or its place: "link", "here", "below"."""
    return not POINTING_AT.isdisjoint(bare_words(text)) or HERE_PARTS.said(text)


def only_points(text: str) -> bool:
    """Whether the text, which is `normal`, has no words but those that point at a link, or none at all."""
    return all(not word or word in POINTING or HERE_PARTS.said(word) for word in bare_words(text))


def is_social(url: str) -> bool:
    """Whether the address is at a network where senders have a profile."""
    host = _HOST.match(url.lower())
    if not host:
        return False
    name = host[0].rpartition("//")[2].rpartition("@")[2].partition(":")[0]
    while name not in SOCIAL and "." in name:
        name = name.partition(".")[2]
    return name in SOCIAL


# A headline in an address has more words than the name of a page.
SLUG_WORDS = 4
_HOST = re.compile(r"(?:https?:)?//[^/?#]*")
_PART = re.compile(r"[^/?&=#]+")


def addresses_may_say(addresses: str) -> bool:
    """Whether one of these, in lower case and with `\\0` between each two, may name a page to leave or to choose.

    Most of an address are numbers, and tell nothing. Without them the many addresses of a mail are the same few.
    """
    return _THIN_URL.said(" ".join(set(addresses.translate(_NO_HEX).split("\0"))))


def address_says(words: Words, url: str) -> bool:
    """Whether the address itself names such a page: in its path or query, or at the start of its host."""
    low = url.lower()
    if not words.said(low):
        return False
    host = _HOST.match(low)
    if not host:
        return low.startswith("mailto:")
    rest = low[host.end() :]
    rest = _PART.sub(lambda part: "" if _is_headline(part[0]) else part[0], rest)
    return words.said(rest) or words.said(host[0].split(".")[0])


def _is_headline(part: str) -> bool:
    return part.count("-") + part.count("_") > SLUG_WORDS
