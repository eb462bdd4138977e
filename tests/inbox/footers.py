"""Footers in the forms that newsletters and mailing lists use, and texts that only look like one.

`{out}` and `{mail}` stand for the addresses to leave by, so the expected result is written in the text itself: these
addresses and no other. Their words say nothing of leaving: what counts is what the footer says about them.
"""

from dataclasses import dataclass

OUT = "https://click.example/c/7f3a9?m=2&l=41"
MAIL = "mailto:req-7f3a9@lists.example"
SHOP = "https://shop.example/"


@dataclass(frozen=True)
class Footer:
    """A body of a mail: its text, and the addresses to leave by that it offers."""

    name: str
    body: str

    @property
    def text(self) -> str:
        """The body as a mail has it in plain text."""
        return self._with(OUT)

    @property
    def html(self) -> str:
        """The body as a mail has it in HTML."""
        return self._with(OUT.replace("&", "&amp;"))

    @property
    def expected(self) -> set[str]:
        """The addresses that are ways out."""
        offered = {"{out}": OUT, "{out_escaped}": OUT, "{out_folded}": OUT, "{mail}": MAIL}
        return {url for placeholder, url in offered.items() if placeholder in self.body}

    def _with(self, out: str) -> str:
        body = self.body.replace("{out}", out).replace("{mail}", MAIL)
        body = body.replace("{out_escaped}", OUT.replace("&", "&amp;"))
        return body.replace("{out_folded}", f"{OUT[:20]}\n  {OUT[20:]}")


_OFFERED_IN_TEXT = {
    "label": "Unsubscribe: {out}",
    "label and sentence end": "Unsubscribe: {out}.",
    "label in capitals": "UNSUBSCRIBE {out}",
    "label, address below": "Unsubscribe\n{out}",
    "label, address below in brackets": "Unsubscribe here:\n\n<{out}>",
    "sentence, address below": "To unsubscribe visit:\n{out}\n",
    "sentence that points below": "To stop receiving these emails, click the link below.\n{out}",
    "address, then its purpose": "{out} to unsubscribe",
    "visit the address to": "Please visit {out} to unsubscribe.",
    "question, then a pointer": "No longer want to receive these emails? Click here: {out}",
    "question, address below": "Don't want to receive these emails any more?\n{out}",
    "folded address": "Unsubscribe <{out_folded}>",
    "escaped ampersand": "Unsubscribe: {out_escaped}",
    "escaped ampersand in brackets": "Unsubscribe <{out_escaped}>\nHome <https://shop.example/>",
    "Mailchimp": (
        "==============================================\n"
        "** Unsubscribe from this list ({out})\n"
        "** Update subscription preferences (https://shop.example/profile?u=1)\n"
        "** View in browser (https://shop.example/archive?u=1)\n"
    ),
    "Mailchimp, new": (
        "This email was sent to anna@reader.example (mailto:anna@reader.example)\n"
        "why did I get this? (https://shop.example/about?u=1)     unsubscribe from this list ({out})"
        "     update subscription preferences (https://shop.example/profile?u=1)\n"
        "The Shop . 1 Main Street . Springfield . USA\n"
    ),
    "Mailman 2": (
        "_______________________________________________\n"
        "Dev mailing list\n"
        "To subscribe or unsubscribe via the World Wide Web, visit\n"
        "\t{out}\n"
        "or, via email, send a message with subject or body 'help' to dev-request@lists.example\n"
    ),
    "Mailman 3": (
        "_______________________________________________\n"
        "dev mailing list -- dev@lists.example\n"
        "To unsubscribe send an email to {mail}\n"
        "https://lists.example/mailman3/lists/dev.lists.example/\n"
    ),
    "Substack": (
        "View this post on the web at https://shop.example/p/twenty-books\n\n"
        "Twenty books that I read this year.\n\n"
        "Unsubscribe {out}\n"
    ),
    "Listserv": (
        "########################################################################\n\n"
        "To unsubscribe from the DEV list, click the following link:\n"
        "{out}\n"
    ),
    "Lyris": (
        "---\nYou are currently subscribed to dev as: anna@reader.example.\n"
        "To unsubscribe click here: {out}\nor send a blank email to leave-141@lists.example\n"
    ),
    "Groups with an options page": (
        'You received this message because you are subscribed to the group "dev".\n'
        "To unsubscribe from this group and stop receiving emails from it, visit {out}.\n"
        "To view this discussion visit https://groups.example/d/msgid/dev/8319.1761763681.\n"
    ),
    "Discourse": (
        "---\nVisit Topic or reply to this email to respond: [Visit Topic](https://forum.example/t/a-topic/12/3)\n"
        "You are receiving this because you enabled mailing list mode.\n"
        "To unsubscribe from these emails, [click here]({out}).\n"
    ),
    "GitHub": (
        "-- \nReply to this email directly, view it on GitHub <https://git.example/org/repo/pull/12>, or\n"
        "unsubscribe <{out}>.\n"
        "You are receiving this because you are subscribed to this thread.\n"
    ),
    "phpList": (
        "--\n\nTo forward this message, please do not use the forward button of your email application,\n"
        "because this message was made specifically for you only. Instead use the forward page in our\n"
        "newsletter system. https://lists.example/?p=forward&uid=1\n\n"
        "    To change your details and to choose which lists to be subscribed to, visit your personal\n"
        "preferences page\n    https://lists.example/?p=profile&uid=1\n\n"
        "    Or you can opt-out completely from all future mailings {out}\n"
    ),
    "Sendy": "Thanks for reading!\n\nUnsubscribe: {out}\nView web version: https://shop.example/w/abc",
    "MailerLite": (
        "You received this email because you signed up on our website or made a purchase from us.\n\n"
        "Unsubscribe ( {out} )\n"
    ),
    "Brevo": (
        "This email was sent to anna@reader.example\n"
        "You've received it because you've subscribed to our newsletter.\n\n"
        "View in browser (https://shop.example/mirror/1) | Unsubscribe ({out})\n"
    ),
    "ActiveCampaign": "Sent to: anna@reader.example\n\nUnsubscribe:\n{out}\n\nThe Shop, 1 Main Street, Springfield\n",
    "Constant Contact": (
        "The Shop | 1 Main Street, Springfield, USA\n\n"
        "Unsubscribe anna@reader.example\n{out}\n\n"
        "Update Profile\nhttps://shop.example/profile/1\n\n"
        "About our service provider\nhttps://provider.example/legal/about\n"
    ),
    "Klaviyo": (
        "No longer want to receive these emails? Unsubscribe ( {out} ).\nThe Shop 1 Main Street Springfield, USA\n"
    ),
    "HubSpot": (
        "The Shop, 1 Main Street, Springfield\n\n"
        "Unsubscribe ({out}) Manage preferences (https://shop.example/hs/manage?d=1)\n"
    ),
    "Campaign Monitor": (
        "You're receiving this because you signed up at our shop.\n\n"
        "Preferences: https://shop.example/t/r-p-1/\nForward: https://shop.example/t/r-f-1/\nUnsubscribe: {out}\n"
    ),
    "Salesforce": (
        "This email was sent by: The Shop\n1 Main Street, Springfield, USA\n\n"
        "Go here to leave this mailing list or modify your email profile. We respect your right to privacy.\n"
        "https://shop.example/privacy\n\nUnsubscribe:\n{out}\n"
    ),
    "Beehiiv": (
        "———\n\nYou are reading a plain text version of this post. For the best experience, copy and paste this link\n"
        "in your browser to view the post online:\nhttps://shop.example/p/post-12\n\n"
        "———\n\nUpdate your email preferences: https://shop.example/prefs/1\nUnsubscribe: {out}\n"
    ),
    "Ghost": "Ann's letters © 2026 – Unsubscribe [{out}]\n\nPowered by an engine [https://engine.example/]\n",
    "Buttondown": "---\n\nYou can unsubscribe at {out}\n\nYou just read issue 12 of Ann's letters.\n",
    "ezmlm with a page": (
        "---------------------------------------------------------------------\n"
        "To unsubscribe, e-mail: dev-unsubscribe@lists.example\n"
        "For additional commands, e-mail: dev-help@lists.example\n"
        "If you no longer wish to receive this list, see {out}\n"
    ),
    "wrapped sentence": (
        "You get this mail because you bought something at our shop in Springfield. If you no longer wish to\n"
        "receive these offers, please visit {out}\n"
    ),
    "wrapped twice": (
        "You are receiving this newsletter because you signed up for it. If you do not want to receive any\n"
        "more of our letters, which we would regret, you can remove your address from our list of\n"
        "readers at {out}\n"
    ),
    "wrapped before the address": (
        "This message was sent to anna@reader.example. To unsubscribe from all further mails please go to\n{out}\n"
    ),
    "pipes": "Home https://shop.example/ | Unsubscribe {out} | Imprint https://shop.example/imprint",
    "pipes, address first": "https://shop.example/ Home | {out} Unsubscribe",
    "Markdown": "[Shop](https://shop.example/) · [Unsubscribe]({out}) · [Imprint](https://shop.example/imprint)",
    "references at the end": (
        "The news of this week [1].\n\nFollow us [2] or unsubscribe [3].\n\n"
        "Links:\n------\n[1] https://shop.example/news\n[2] https://twitter.com/shop\n[3] {out}\n"
    ),
    "references of lynx": (
        "   [1]View in your browser\n\n   The news of this week. [2]Read more\n\n"
        "   You may [3]unsubscribe or [4]change your profile.\n\nReferences\n\n"
        "   1. https://shop.example/view\n   2. https://shop.example/more\n   3. {out}\n   4. https://shop.example/me\n"
    ),
    "references of lynx that point": (
        "   If you cannot see this, click [1]here. To unsubscribe from this newsletter, please click [2]here.\n\n"
        "References\n\n   1. https://shop.example/view\n   2. {out}\n"
    ),
    "references of Markdown": (
        "Follow [us][1]. To leave this list [click here][2].\n\n[1]: https://twitter.com/shop\n[2]: {out}\n"
    ),
    "footnote in a sentence": "To unsubscribe please follow this link [1].\n\n[1] {out}",
    "cancel subscription": "Cancel subscription: {out}",
    "cancel your subscription": "To cancel your subscription to this newsletter, go to {out}",
    "(un)subscription": "Manage your (un)subscription: {out}",
    "(un)subscribe": "(Un)subscribe at {out}",
    "to be removed": "To be removed click here: {out}",
    "to be removed, please": "To be removed from our mailing list, please click here\n{out}",
    "German, sich abmelden": "Um sich abzumelden, klicken Sie hier: {out}",
    "German, address below": "Newsletter abbestellen:\n{out}\n\nImpressum:\nhttps://shop.example/impressum\n",
    "German, wrapped": (
        "Sie erhalten diese E-Mail, weil Sie sich für unseren Newsletter angemeldet haben. Wenn Sie keine\n"
        "weiteren E-Mails mehr erhalten möchten, klicken Sie bitte hier: {out}\n"
    ),
    "German, austragen": "Hier können Sie sich aus dem Verteiler austragen: {out}",
    "French": "Pour vous désabonner, cliquez ici : {out}",
    "French, below": "Si vous ne souhaitez plus recevoir nos messages, suivez ce lien :\n{out}",
    "French, label": "Se désinscrire : {out}\nVoir en ligne : https://shop.example/vue",
    "Spanish": "Si no desea recibir más correos, haga clic aquí: {out}",
    "Spanish, label": "Darse de baja: {out}",
    "Spanish, stop": "Para dejar de recibir estos correos: {out}",
    "Italian": "Per cancellarti dalla newsletter clicca qui: {out}",
    "Italian, label": "Disiscriviti: {out}\nSeguici: https://facebook.com/negozio",
    "Romanian": "Pentru a vă dezabona de la aceste notificări, accesați: {out}",
    "Romanian, wish": "Dacă nu mai doriți să primiți aceste mesaje, apăsați aici:\n{out}",
    "Dutch": "Wilt u deze nieuwsbrief niet meer ontvangen? Klik dan hier: {out}",
    "Dutch, label": "Uitschrijven: {out}",
    "Portuguese": "Para cancelar a inscrição, clique aqui: {out}",
    "Portuguese, wish": "Se não deseja mais receber nossos e-mails, acesse {out}",
    "Polish": "Aby wypisać się z newslettera, kliknij tutaj: {out}",
    "Polish, wish": "Jeśli nie chcesz otrzymywać naszych wiadomości, kliknij:\n{out}",
    "Swedish": "Avsluta prenumeration: {out}",
    "Danish": "Afmeld nyhedsbrevet her: {out}",
    "Czech": "Odhlásit odběr: {out}",
    "Hungarian": "Leiratkozás: {out}",
    "Russian": "Чтобы отписаться от рассылки, перейдите по ссылке: {out}",
    "Turkish": "Abonelikten çıkmak için: {out}",
    "Japanese": "配信停止はこちら: {out}",
    "Japanese, below": "メールの配信停止をご希望の方はこちら\n{out}",
    "Drip": "Want out of the loop? Unsubscribe:\n\n{out}\n\n1 Main Street",
    "ConvertKit": (
        "------------\n\nUnsubscribe ( {out} ) | Update your profile ( https://shop.example/p ) | 1 Main Street\n"
    ),
    "Revue": (
        "In order to unsubscribe, click here ( {out} ).\n"
        "If you were forwarded this newsletter and you like it, you can subscribe here ( "
        "https://shop.example/join )."
    ),
    "TinyLetter": (
        "1 Main Street, Springfield\nUnsubscribe [ {out} ] - Update your preferences [ https://shop.example/p ]"
    ),
    "SendGrid": (
        "This email was sent to you by The Shop.\n"
        "If you'd like to unsubscribe and stop receiving these emails click here {out} ."
    ),
    "Meetup": (
        "Unsubscribe from similar emails from this Meetup group\n"
        "{out}\n"
        "\n"
        "Manage your settings for all types of email updates\n"
        "https://meet.example/settings"
    ),
    "Eventbrite": (
        "You are receiving this email because you follow the organizer.\nUnsubscribe from this organizer: {out}"
    ),
    "Stack": "Unsubscribe from this alert: {out}\n\nQuestions? Comments? Let us know on our feedback site.",
    "Kickstarter": "Don't want to receive these updates? Unsubscribe here: {out}",
    "Change.org": (
        "This email was sent to anna@reader.example.\n"
        "Edit your email preferences https://c.example/p\n"
        "or unsubscribe from these emails {out}"
    ),
    "LISTSERV old": "To unsubscribe from the LIST list, click the following link:\n<{out}>\n",
    "YahooGroups": (
        "To unsubscribe from this group, go to:\n"
        "{out}\n"
        "\n"
        "Your use of Groups is subject to the Terms of Service https://g.example/terms"
    ),
    "Sympa": "To sign me off this list: {out}",
    "Nextdoor": "Want to turn off these emails? Go to {out}",
    "Jira": "Cancel subscription {out}\n-- \nThis message was sent by a machine",
    "Moodle": "---\nTo unsubscribe from this forum: {out}\nSee the post in context: https://m.example/1",
    "Redmine": (
        "You have received this notification because you have either subscribed to it, or are involved "
        "in it.\n"
        "To change your notification preferences, please click here: https://r.example/my\n"
        "Unsubscribe: {out}"
    ),
    "AWeber": "The Shop, 1 Main Street\n\nTo unsubscribe or change subscriber options visit:\n{out}",
    "GetResponse": "If you no longer wish to receive our messages, please click the link below:\n{out}",
    "Mailjet": ("This e-mail has been sent to anna@reader.example, click here to unsubscribe {out}\n1 Main Street"),
    "Cleverreach": (
        "Wenn Sie diese E-Mail (an: anna@reader.example) nicht mehr empfangen möchten, können Sie diese "
        "hier abbestellen:\n"
        "{out}"
    ),
    "Rapidmail": "Falls Sie den Newsletter nicht mehr erhalten möchten, können Sie sich hier austragen: {out}",
    "German, informal": "Du möchtest keine Mails mehr von uns? Hier kannst du dich abmelden: {out}",
    "German footer": "Impressum: https://shop.example/imp\nDatenschutz: https://shop.example/ds\nAbmelden: {out}",
    "French Sarbacane": "Si vous souhaitez vous désinscrire, merci de cliquer sur le lien suivant : {out}",
    "French, informal": "Tu ne veux plus recevoir nos mails ? Désinscris-toi ici : {out}",
    "Spanish LatAm": "Si ya no deseas recibir nuestros correos, puedes darte de baja aquí: {out}",
    "Italian, click on": "Se non vuoi più ricevere queste email, clicca su {out}",
    "Romanian, label": "Dezabonare: {out}\nPolitica de confidențialitate: https://shop.example/gdpr",
    "Romanian, informal": "Nu mai vrei să primești newsletterul nostru? Dezabonează-te aici: {out}",
    "Dutch, question": "Geen interesse meer? Meld je af: {out}",
    "Portuguese, below": "Para deixar de receber estes e-mails, clique no link abaixo:\n{out}",
    "Polish, noun": "Rezygnacja z subskrypcji: {out}",
    "Swedish, question": "Vill du inte längre få våra mejl? Avregistrera dig här: {out}",
    "Finnish": "Peruuta tilaus: {out}",
    "Chinese": "退订: {out}",
    "Korean": "수신거부: {out}",
    "Greek": "Για διαγραφή πατήστε εδώ: {out}",
    "bullet": "* Unsubscribe: {out}\n* Shop: https://shop.example/",
    "arrow": "Unsubscribe -> {out}",
    "equals": "Unsubscribe = {out}",
    "square brackets": "Unsubscribe [{out}]",
    "wrapped, and goes on below": (
        "You are receiving this email because anna@reader.example is subscribed to\n"
        "our newsletter. To unsubscribe from it at any time, please visit the page\n"
        "{out}\n"
        "and confirm."
    ),
    "list, leave here": "You received this mail because you are on our list. You may leave this list here: {out}",
    "prefer not to receive": "If you prefer not to receive these emails, unsubscribe via {out}",
    "labels of three": (
        "Manage notifications: https://a.example/n\nUnsubscribe from all emails: {out}\nHelp: https://a.example/h"
    ),
    "click this link, below": "Click this link to unsubscribe:\n{out}\n\nRegards,\nThe team",
    "in brackets": "(Unsubscribe: {out})",
    "German, wish and label": "Wenn Sie keine Werbung mehr wünschen: Abmeldung unter {out}",
    "small labels": "unsubscribe: {out}\nweb: https://shop.example/",
    "between two sentences": "This is a mailing list. To opt out, use this link: {out} Thanks!",
    "labels above addresses": (
        "View this email in your browser\n"
        "https://shop.example/v\n"
        "\n"
        "Hello\n"
        "\n"
        "Unsubscribe\n"
        "{out}\n"
        "\n"
        "Privacy Policy\n"
        "https://shop.example/p"
    ),
    "label first, then privacy": "Unsubscribe ( {out} ) Privacy ( https://shop.example/p )",
    "privacy first, then label": "Privacy ( https://shop.example/p ) Unsubscribe ( {out} )",
    "French, infinitive": "Pour se désabonner de la lettre : {out}.",
    "Italian, go to": "Avviso: per disiscriverti vai a\n{out}",
    "Dutch, can via": "Je ontvangt deze mail omdat je klant bent. Afmelden kan via {out}",
    "Polish, question": "Czy chcesz zrezygnować? Wypisz się: {out}",
    "Romanian, link below": "Dacă doriți să vă dezabonați, dați click pe linkul de mai jos:\n\n{out}",
    "by clicking here": "You can unsubscribe by clicking here: {out}",
    "by following this link": "You can unsubscribe by following this link:\n\n   {out}\n",
    "unsubscribe or settings": "Sent with care. Unsubscribe {out} or update your settings https://x.example/s.",
}

_NOT_OFFERED_IN_TEXT = {
    "another call below": "You may unsubscribe at any time.\nFollow us on https://twitter.com/shop",
    "another call in the same line": "You may unsubscribe at any time. Follow us on https://twitter.com/shop",
    "another call after a comma": "You may unsubscribe at any time, but first follow us on https://twitter.com/shop",
    "another call a paragraph below": "You can unsubscribe at any time.\n\nFollow us: https://instagram.com/shop",
    "view in browser": "You can unsubscribe whenever you like.\nView in browser: https://shop.example/view",
    "view in browser above": "View in browser: https://shop.example/view\nUnsubscribe at the end of this mail.",
    "shop now": "No spam, unsubscribe at any time.\n\nShop now: https://shop.example/sale",
    "update your profile": "You may unsubscribe at any time.\nUpdate your profile: https://shop.example/me",
    "bare address below a statement": "You may unsubscribe at any time.\nhttps://shop.example/",
    "bare address far below a statement": "You may unsubscribe at any time.\n\n\nhttps://shop.example/",
    "bare address above a statement": "https://shop.example/\nYou may unsubscribe at any time.",
    "bare address above a label": "Sent by the shop\n\nhttps://shop.example/\nUnsubscribe | Imprint",
    "social host below a lead": "You can unsubscribe with the link below.\nhttps://www.facebook.com/shop",
    "label without its link": "Unsubscribe\nFollow us: https://twitter.com/shop",
    "labels without their links": "Unsubscribe | View in browser | https://shop.example/",
    "reply to leave": "To unsubscribe reply with STOP.\nThe Shop, https://shop.example/",
    "reply to leave, same line": "To unsubscribe reply with STOP in the subject. Our shop: https://shop.example/",
    "address before the sentence": "Visit our shop at https://shop.example/. To unsubscribe reply with STOP.",
    "subscribe, leave at any time": "Subscribe at https://shop.example/join (unsubscribe any time).",
    "subscribe, leave at any time, comma": "Sign up at https://shop.example/join, unsubscribe whenever you like.",
    "Google Groups by mail": (
        'You received this message because you are subscribed to the Google Groups "dev" group.\n'
        "To unsubscribe from this group and stop receiving emails from it, send an email to dev+x@groups.example.\n"
        "To view this discussion visit https://groups.example/d/msgid/dev/8319582016.1761763681%40pm.example.\n"
    ),
    "ezmlm by mail": (
        "To unsubscribe, e-mail: dev-unsubscribe@lists.example\n"
        "For additional commands, e-mail: dev-help@lists.example\nhttps://lists.example/archive\n"
    ),
    "left already": "You have been unsubscribed.\nIf this was a mistake, come back: https://shop.example/join",
    "left already, same line": "You have been unsubscribed. Subscribe again here: https://shop.example/join",
    "story about leaving": (
        "We asked why readers unsubscribe from letters, and what you can do about it.\n"
        "Read the story: https://shop.example/story-12\n"
    ),
    "story about leaving, wrapped": (
        "Our study of a thousand newsletters shows why so many of their readers unsubscribe in spring.\n"
        "Read the whole story at https://shop.example/story-12\n"
    ),
    "headline as address": "News: https://shop.example/2026/how-we-halved-our-unsubscribe-rate-in-a-year",
    "products that go": "Fifty products will be removed from our shop in May: https://shop.example/sale",
    "products that go, bare": "These are to be removed in May: https://shop.example/sale",
    "quoted": "> Unsubscribe: https://click.example/quoted",
    "quoted in a reply": "Thanks!\n\nOn Mon, 2 Nov 2026 Ann wrote:\n> To unsubscribe visit\n> https://click.example/quoted\n",
    "reply with the mail below": (
        "Thanks, I will have a look.\n\n-----Original Message-----\nFrom: The Shop <news@shop.example>\n"
        "Sent: Monday, 2 November 2026\nSubject: Sale\n\nUnsubscribe: https://click.example/quoted\n"
    ),
    "forwarded": (
        "Look at this!\n\n---------- Forwarded message ---------\nFrom: The Shop <news@shop.example>\n"
        "Subject: Sale\n\nUnsubscribe: https://click.example/quoted\n"
    ),
    "no address": "Unsubscribe at shop.example",
    "German, statement": "Sie können sich jederzeit abmelden.\nFolgen Sie uns: https://instagram.com/laden",
    "German, statement, bare": "Eine Abmeldung ist jederzeit möglich.\nhttps://shop.example/",
    "German, statement, same line": "Abmeldung jederzeit möglich. Zum Shop: https://shop.example/",
    "French, statement": "Vous pouvez vous désabonner à tout moment.\nSuivez-nous : https://facebook.com/magasin",
    "French, statement, same line": "Désabonnement possible à tout moment. Notre site : https://shop.example/",
    "Spanish, statement": "Puede darse de baja en cualquier momento.\nSíganos: https://twitter.com/tienda",
    "Italian, statement": "Puoi cancellarti in qualsiasi momento.\nSeguici su https://facebook.com/negozio",
    "Romanian, statement": "Vă puteți dezabona oricând.\nUrmăriți-ne pe https://facebook.com/magazin",
    "Dutch, statement": "U kunt zich op elk moment afmelden.\nBekijk in browser: https://shop.example/view",
    "Portuguese, statement": "Você pode cancelar a inscrição a qualquer momento.\nVeja online: https://shop.example/v",
    "Polish, statement": "Możesz wypisać się w każdej chwili.\nZobacz w przeglądarce: https://shop.example/v",
    "references, none to leave": ("You may unsubscribe at any time. Follow us [1].\n\n[1] https://twitter.com/shop\n"),
    "references of lynx, none to leave": (
        "   You may unsubscribe at any time. [1]Follow us\n\nReferences\n\n   1. https://twitter.com/shop\n"
    ),
    "list of steps": (
        "How to unsubscribe:\n1. Open our app.\n2. Go to your account.\n\nGet the app: https://shop.example/app\n"
    ),
    "steps with an address": "To unsubscribe:\n1. Log in.\n2. Open the settings.\n\nhttps://shop.example/\n",
    "signature below a request": "Please unsubscribe me from this list.\n\n-- \nAnn\nhttps://ann.example/\n",
    "one click, same line": "You can unsubscribe with one click. https://shop.example/",
    "link elsewhere": "You can unsubscribe with the link in our emails.\nhttps://shop.example/",
    "request with an address": "How do I unsubscribe? I never signed up for this.\n\nSee my site https://ann.example/\n",
    "log out": "You are signed in. Open your account: https://shop.example/account",
    "forward to a friend": "Unsubscribe\n\nForward to a friend: https://shop.example/forward",
    "privacy": "You can opt out of emails at any time. Read our privacy policy: https://shop.example/privacy",
    "privacy, wrapped": (
        "You can opt out of promotional emails at any time as described in our notice about privacy and\n"
        "cookies, which is at https://shop.example/privacy. All prices include tax.\n"
    ),
    "news of a law": "New law makes it easier to unsubscribe from paid services. More at https://news.example/law",
    "digest": (
        "1. Why people unsubscribe\n   https://news.example/why\n2. Spring is here\n   https://news.example/spring"
    ),
    "digest, one line": "Unsubscribe rates explained (https://news.example/rates)",
    "podcast": "Like it? Leave a review. Hate it? Unsubscribe. Listen: https://pod.example/12",
    "welcome": "Welcome! You can opt out any time.\n\nGet started:\nhttps://shop.example/start",
    "welcome, bare address": "We will never spam you and you can unsubscribe with one click.\n\n  https://shop.example/\n",
    "postscript": "PS: if you unsubscribe we will miss you! https://shop.example/",
    "GitHub without a link": (
        "Reply to this email directly or view it on GitHub:\n"
        "https://git.example/1\n"
        "You are receiving this because you are subscribed to this thread."
    ),
    "Mailman 3 by mail": (
        "_______________________________________________\n"
        "dev mailing list -- dev@lists.example\n"
        "To unsubscribe send an email to dev-leave@lists.example\n"
        "https://lists.example/dev/\n"
    ),
    "by reply, then a signature": "To unsubscribe, just hit reply.\n\nAnn Smith\nCEO, The Shop\nhttps://shop.example/",
    "by reply, then another call": (
        "If you no longer wish to receive these emails, reply with REMOVE.\n\nSchedule a demo: https://cal.example/me"
    ),
    "German, by reply": "Zum Abmelden antworten Sie einfach auf diese Mail.\nhttps://shop.example/",
    "cold mail": "Not interested? Reply 'no' and I won't write again.\nMy calendar: https://cal.example/me",
    "cold mail, signature": (
        "If this isn't relevant, let me know and I'll remove you from my list.\n\nBest, Ann\nhttps://ann.example"
    ),
    "order": "Your subscription will not be cancelled. Manage your order: https://shop.example/o/1",
    "survey": "You unsubscribed from our newsletter last week. Tell us why: https://survey.example/1",
    "confirmation": (
        "Please confirm your subscription:\n"
        "https://shop.example/confirm/1\n"
        "\n"
        "If you did not sign up, ignore this mail. You can unsubscribe later."
    ),
    "row of networks": "Unsubscribe\n\nTwitter https://twitter.com/shop | Facebook https://facebook.com/shop",
    "network below": "You can unsubscribe here\n\nhttps://instagram.com/shop",
    "store of apps": "Unsubscribe in the app:\nhttps://apps.apple.com/app/1",
    "settings of an account": (
        "Don't want these mails? Change this in your account settings.\nThe Shop\nhttps://shop.example/"
    ),
    "statement above a label": "you can unsubscribe at any time\nwww: https://shop.example/",
    "French, by reply": "Vous pouvez vous désinscrire à tout moment en répondant à ce mail.\nhttps://shop.example/",
    "Spanish, by reply": "Si no desea recibir más correos, responda BAJA.\nVisite https://shop.example/",
    "Polish, by reply": "Aby się wypisać, odpowiedz na tę wiadomość. Sklep: https://shop.example/",
    "welcome, start here": "Thanks for subscribing! Unsubscribe anytime. Start here: https://shop.example/start",
    "welcome, download": (
        "We hate spam. You can unsubscribe at any moment.\nYour download:\nhttps://shop.example/file.pdf"
    ),
    "by phone": ("If you wish to unsubscribe, please let us know by phone.\n\nwww.shop.example\nhttps://shop.example/"),
    "terms": "Opt-out instructions are in our terms.\nSee https://shop.example/terms",
    "request was received": "Your unsubscribe request was received.\nhttps://shop.example/",
    "opt out of a plan": "Reminder: the deadline to opt out of the plan is May 1. Details: https://hr.example/plan",
    "forum topic": "Anna asked how to unsubscribe yesterday\nhttps://forum.example/t/12",
    "German, left already": "Ihre Abmeldung war erfolgreich.\n\nZur Startseite: https://shop.example/",
    "German, left already, bare": "Ihre Abmeldung war erfolgreich.\nhttps://shop.example/",
    "Romanian, account": "Vă puteți dezabona oricând din contul dumneavoastră. Contul meu: https://shop.example/cont",
    "sale above": "Sale! https://shop.example/sale\nUnsubscribe by replying to this mail",
    "log in to leave": "To unsubscribe, log in and open your settings.\nSupport: https://shop.example/help",
    "labels without links, below": "Unsubscribe | Privacy | Terms\n\nThe Shop, https://shop.example/",
    "lines without links": "Unsubscribe\nPrivacy\nTerms\nhttps://shop.example/",
    "by a call": "You may opt out at any time by calling us. Visit https://shop.example/ for hours.",
}

_OFFERED_IN_HTML = {
    "link": '<p><a href="{out}">Unsubscribe</a></p>',
    "Mailchimp": (
        '<td>Want to change how you receive these emails?<br>You can <a href="https://shop.example/me">update your '
        'preferences</a> or <a href="{out}">unsubscribe from this list</a>.</td>'
    ),
    "Klaviyo": '<div>No longer want to receive these emails? <a href="{out}">Unsubscribe</a>.<br>The Shop</div>',
    "HubSpot": '<p><a href="{out}">Unsubscribe</a> <a href="https://shop.example/m">Manage preferences</a></p>',
    "Constant Contact": '<td><a href="{out}">Unsubscribe anna@reader.example</a></td>',
    "Campaign Monitor": '<td><a href="https://shop.example/p">Preferences</a> | <a href="{out}">Unsubscribe</a></td>',
    "Salesforce": '<td>Click <a href="{out}">here</a> to unsubscribe from future emails.</td>',
    "Substack": '<a href="{out}"><span>Unsubscribe</span></a> <a href="https://shop.example/p/1">Like</a>',
    "Beehiiv": (
        '<p>Update your email preferences or unsubscribe <a href="{out}">here</a></p>'
        '<p>© 2026 The Shop</p><a href="https://shop.example/terms">Terms of Service</a>'
    ),
    "Ghost": '<td>Ann\'s letters © 2026 &mdash; <a href="{out}">Unsubscribe</a></td>',
    "Buttondown": (
        '<p>You just read issue 12. <a href="https://shop.example/a">Browse</a> <a href="{out}">Unsubscribe</a></p>'
    ),
    "GitHub": (
        '<p>&mdash;<br>Reply to this email directly, <a href="https://git.example/1">view it on GitHub</a>, or '
        '<a href="{out}">unsubscribe</a>.<br>You are receiving this because you commented.</p>'
    ),
    "Discourse": '<p>To unsubscribe from these emails, <a href="{out}">click here</a>.</p>',
    "question, then a pointer": "<p>You no longer wish to receive these emails? <a href='{out}'>Click here</a>.</p>",
    "question, then a short pointer": "<p>Don't want to receive our mails? Please click <a href='{out}'>here</a></p>",
    "in a quote element": '<blockquote><p><a href="{out}">Unsubscribe</a></p></blockquote>',
    "in a quote element with a margin": (
        '<p>The news.</p><blockquote style="margin:0 0 0 40px;border:none;padding:0"><font size="1">To unsubscribe '
        'click <a href="{out}">here</a></font></blockquote>'
    ),
    "in a quote element after a colon": (
        '<p>Our address:</p><blockquote>The Shop, 1 Main Street<br><a href="{out}">Unsubscribe</a></blockquote>'
    ),
    "after a quoted mail": (
        '<blockquote type="cite"><a href="https://click.example/quoted">Unsubscribe</a></blockquote>'
        '<p><a href="{out}">Unsubscribe</a></p>'
    ),
    "cancel subscription": '<td><a href="{out}">Cancel subscription</a></td>',
    "cancel my subscription": '<td><a href="{out}">Cancel my newsletter subscription</a></td>',
    "(un)subscription": '<td><a href="{out}">(un)subscription</a></td>',
    "(un)subscribe": '<td><a href="{out}">(Un)subscribe</a></td>',
    "to be removed": '<td>To be removed <a href="{out}">click here</a></td>',
    "to be removed from": '<td>To be removed from our list, please <a href="{out}">click here</a>.</td>',
    "German, sich abmelden": '<p>Um sich abzumelden, klicken Sie <a href="{out}">hier</a></p>',
    "German, sich abmelden, longer link": '<p>Um sich abzumelden, <a href="{out}">klicken Sie hier</a>.</p>',
    "German": '<p>Sie möchten keine E-Mails mehr? Dann <a href="{out}">hier abmelden</a>.</p>',
    "French": '<p>Si vous ne souhaitez plus recevoir nos e-mails, <a href="{out}">cliquez ici</a>.</p>',
    "French, link": '<p><a href="{out}">Se d&eacute;sinscrire</a></p>',
    "Spanish": '<p>Para dejar de recibir estos correos, <a href="{out}">cancela tu suscripci&oacute;n</a>.</p>',
    "Spanish, here": '<p>Si no desea recibir más correos haga clic <a href="{out}">aquí</a></p>',
    "Italian": '<p>Per cancellarti, clicca sul seguente <a href="{out}">link</a>.</p>',
    "Romanian": '<p>Dacă nu mai doriți să primiți mesaje, <a href="{out}">faceți clic aici</a> pentru dezabonare.</p>',
    "Dutch": '<p>Klik <a href="{out}">hier</a> om u uit te schrijven</p>',
    "Portuguese": '<p>Para não receber mais nossos e-mails, <a href="{out}">descadastre-se</a></p>',
    "Polish": '<p>Kliknij w ten <a href="{out}">link</a>, aby wypisać się z newslettera.</p>',
    "by mail": '<p>To unsubscribe <a href="{mail}">click here</a>.</p>',
}

_NOT_OFFERED_IN_HTML = {
    "another call in the same block": (
        '<p>You may unsubscribe at any time. Follow us <a href="https://twitter.com/shop">here</a>.</p>'
    ),
    "another purpose in the same block": (
        '<p>You can unsubscribe at any time. Click <a href="https://shop.example/1">here</a> to read on.</p>'
    ),
    "another call after a break": (
        '<td>You can unsubscribe at any time.<br>Shop now: <a href="https://shop.example/">https://shop.example/</a></td>'
    ),
    "another call in the next block": (
        '<p>You can unsubscribe at any time.</p><p>Click <a href="https://shop.example/1">here</a> to read on.</p>'
    ),
    "German, another call": (
        '<p>Sie können sich jederzeit abmelden. Unseren Shop finden Sie <a href="https://shop.example/">hier</a>.</p>'
    ),
    "French, another call": (
        '<p>Vous pouvez vous désabonner à tout moment. Notre charte est <a href="https://shop.example/c">ici</a>.</p>'
    ),
    "quoted mail, Apple": (
        '<div>Thanks!</div><blockquote type="cite"><div>On 2 Nov 2026, at 08:00, The Shop wrote:</div>'
        '<a href="https://click.example/quoted">Unsubscribe</a></blockquote>'
    ),
    "quoted mail, Thunderbird": (
        '<div class="moz-cite-prefix">On 02/11/2026 08:00, The Shop wrote:<br></div><blockquote type="cite" '
        'cite="mid:1@shop.example"><a href="https://click.example/quoted">Unsubscribe</a></blockquote>'
    ),
    "quoted mail, Gmail": (
        '<div dir="ltr">Thanks!</div><br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">On Mon, 2 Nov 2026 '
        'The Shop wrote:<br></div><blockquote class="gmail_quote" style="margin:0 0 0 .8ex"><a '
        'href="https://click.example/quoted">Unsubscribe</a></blockquote></div>'
    ),
    "quoted mail, no mark but the attribution": (
        "<p>Thanks!</p><p>On Mon, 2 Nov 2026 at 08:00, The Shop &lt;news@shop.example&gt; wrote:</p>"
        '<blockquote><a href="https://click.example/quoted">Unsubscribe</a></blockquote>'
    ),
    "quoted mail, German": (
        "<p>Danke!</p>Am 02.11.2026 um 08:00 schrieb The Shop:<br>"
        '<blockquote><a href="https://click.example/quoted">Abmelden</a></blockquote>'
    ),
    "quoted mail, French": (
        "<p>Merci !</p>Le lun. 2 nov. 2026 à 08:00, The Shop a écrit&nbsp;:<br>"
        '<blockquote><a href="https://click.example/quoted">Se désabonner</a></blockquote>'
    ),
    "quoted mail, Romanian": (
        "<p>Mulțumesc!</p><div>Pe 2 nov. 2026, The Shop a scris:</div>"
        '<blockquote><a href="https://click.example/quoted">Dezabonare</a></blockquote>'
    ),
    "subscribe": '<p><a href="https://shop.example/join">Subscribe</a>, unsubscribe whenever you like.</p>',
    "products that go": (
        '<p>Fifty products will be removed from our shop in May. See them <a href="https://shop.example/">here</a>.</p>'
    ),
}


def _footers(bodies: dict[str, str]) -> list[Footer]:
    return [Footer(name, body) for name, body in bodies.items()]


TEXTS = [*_footers(_OFFERED_IN_TEXT), *_footers(_NOT_OFFERED_IN_TEXT)]
PAGES = [*_footers(_OFFERED_IN_HTML), *_footers(_NOT_OFFERED_IN_HTML)]
