"""How people say that somebody can leave, in the languages that newsletters come in.

Words are compared in lower case and without accents, as parts of what is said: German puts them into longer ones.
"""

import re
import unicodedata
from functools import lru_cache

# Said by the link itself.
_LEAVE = """
unsubscrib | opt-out | optout | opt out | opting out | remove me from | sign me off
abmeld | abbestell | austragen | auszutragen | deabonnier
désabonn | désinscri | annuler l'abonnement | annuler mon abonnement
de baja | desuscri | cancelar suscripci | cancelar la suscripci | cancelar tu suscripci | cancelar mi suscripci
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
stop these emails | stop future emails | leave this list | leave the list | remove yourself | be removed from
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
            for start in self._starts.intersection(bare_words(text)):
                found += [phrase for phrase in self._by_start[start] if phrase in text]
        return tuple(found)

    def said(self, text: str) -> bool:
        """Whether one of them is in the text, which is `normal`."""
        return bool(self.within(text))


_AROUND = " .,:;!?()[]«»<>→›…*\"'|/-"


def bare_words(text: str) -> list[str]:
    """The words of the text, without what stands around them."""
    return [word.strip(_AROUND) for word in text.split()]


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
# A link that says more says what it is for.
HERE_MAX = 60


def leaving(text: str) -> bool:
    """Whether the text, which is `normal`, speaks of leaving in any way."""
    return LEAVE.said(text) or GOING.said(text)


def pointers(text: str) -> list[str]:
    """What is in the text, which is `normal`, by which a link may only point."""
    here = HERE.intersection(bare_words(text))
    return [*here, *HERE_PARTS.within(text), *(start for start in ("http", "www.") if start in text)]


def points(label: str) -> bool:
    """Whether the words of a link, which are `normal`, only point at it: "click here", or its address once more."""
    if len(label) > HERE_MAX:
        return label.startswith(("http://", "https://", "www.")) and " " not in label
    if label.startswith(("http://", "https://", "www.")):
        return True
    return not HERE.isdisjoint(bare_words(label)) or HERE_PARTS.said(label)


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
